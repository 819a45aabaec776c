"""From the wire to pods of the model. Start with `pod`.

| module            | promise                                                    |
|-------------------|------------------------------------------------------------|
| pod               | the whole pod                                              |
| requests          | the amounts that a pod uses of a node                      |
| node_requirements | what a pod asks of a node, interned: read once if equal    |
| affinity          | affinity, anti-affinity and spread constraints             |
| volumes           | claims and disks that may decide where a pod goes          |
| membership        | the labels and annotations by which a pod names its gang   |
| faults            | what is wrong with what a pod says of its gang             |
| rank              | the rank of a pod among the members of its gang            |
| podsets           | the topology request of a podset, as Kueue defines it      |
"""
