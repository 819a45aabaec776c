"""What must not be: a rule a module, with its source and what it leaves alone on purpose.

| module       | what it judges                                             |
|--------------|------------------------------------------------------------|
| capacity     | more on a node than it offers                              |
| ports        | two pods with one port of a node                           |
| volumes      | a node that does not reach a volume, or has no slot for it |
| filters      | a node that does not take the pod                          |
| pod_affinity | pods that must not be near each other, or are not near     |
| gathering    | a gang beyond the domain that it must gather in            |
| bindings     | a pod bound twice, or while it was deleted, ended or gated |
| quorum       | a gang that is bound in part                               |
| groups       | a gang that started without others of its group            |
| leader       | bindings by two replicas, or without the Lease             |
| evictions    | victims that the preemptor may not evict                   |
| spared       | victims that there was room for beside the preemptor       |
| simulated    | more victims than a simulation has: on demand              |
| leftovers    | nominations and marks that nothing follows from            |
| quotas       | a queue over its limit, and a guarantee that is lent       |
| table        | all rules                                                  |
"""
