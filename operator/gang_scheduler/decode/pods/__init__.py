"""From the wire to pods of the model. Start with `pod`.

| module            | promise                                                    |
|-------------------|------------------------------------------------------------|
| pod               | the whole pod                                              |
| requests          | the amounts that a pod uses of a node                      |
| node_requirements | what a pod asks of a node, interned: read once if equal    |
| affinity          | affinity, anti-affinity and spread constraints             |
| volumes           | claims and disks that may decide where a pod goes          |
| membership        | which gang a pod is in, as which role and with which rank  |
| faults            | what is wrong with what a pod says of its gang             |
| rank              | the indexes of a pod that its rank is made of              |
| runs              | of which run of a workload a pod is                        |
| podsets           | the topology request of a podset, as Kueue defines it      |
"""
