"""What users write and read: our custom resources and the labels and annotations we accept.

Start with `pod_group` and `network_topology`, the two kinds. `parsing` reads stored objects into
them, `annotations` lists the keys, and `crds` turns the models into the YAML of `crds/`.

Used by cluster, app and cli. The pure core never imports this package: what it needs is decoded
into `model` first.
"""
