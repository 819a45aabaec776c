"""What pods take of nodes beside amounts: one ledger a file, changed by a trial only.

| module         | promise                                                               |
|----------------|-----------------------------------------------------------------------|
| attachments    | volumes attached to each node, by driver                              |
| host_ports     | ports of the host that are taken                                      |
| pod_affinity   | pods on each node that selectors match                                |
| volume_choices | volumes chosen for claims of WaitForFirstConsumer                     |
| volumes        | claims, disks and attachments in use: the two above, and restrictions |
"""
