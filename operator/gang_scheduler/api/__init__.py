"""What users write and read: custom resources, and the accepted labels and annotations.

Open `pod_group` first. The pure core never imports this package: its input is decoded into
`model` first.
"""
