"""What is known now, our own writes included; gives the snapshot of every cycle.

Plain synchronous code. `cache` is the only door: it takes in what `decode` and `apply` tell.

| module          | promise                                                          |
|-----------------|------------------------------------------------------------------|
| cache           | takes in every object and every decision, and makes snapshots;   |
|                 | says which events may help gangs that wait                       |
| node_usage      | nodes, and what the pods on them use                             |
| evictable_pods  | the pods on nodes as preemption sees them                        |
| terminating     | pods that leave their nodes, and victims that will               |
| victims         | what the cache is told of evictions that are decided             |
| nominator       | waiting pods that room is kept for, and what was written of that |
| gangs           | gangs, their members, and whether to try them                    |
| pod_affinity    | selectors of pods, and the pods that they match                  |
| volumes         | claims and volumes, and what is assumed of them                  |
| budgets         | PodDisruptionBudgets                                             |
| topologies      | the topology trees in force                                      |
| pod_classes     | what pods ask, with what is known only in this cluster           |
| foreign_members | gangs with members of another scheduler                          |
"""
