"""What users write and read: custom resources, and the labels and annotations that are accepted.

| module           | promise                                                                   |
|------------------|---------------------------------------------------------------------------|
| pod_group        | PodGroup: spec, and the schema of its status (`report` fills that)        |
| network_topology | ClusterNetworkTopology, spec and status                                   |
| queues           | Queue, spec and status                                                    |
| resource_flavor  | ResourceFlavor                                                            |
| annotations      | the keys of annotations and labels                                        |
| kinds            | group, version and resource of every kind                                 |
| suspend_fields   | where workloads say that they are suspended                               |
| conditions       | conditions of statuses                                                    |
| meta             | ObjectMeta, and what all kinds have in common                             |
| parsing          | stored objects to these models; an error names the field                  |
| schema, crds     | these models to the YAML of `crds/`                                       |

The pure core never imports this package: what it needs is decoded into `model` first.
"""
