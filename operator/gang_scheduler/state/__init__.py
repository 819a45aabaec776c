"""What is known now, our own writes included; gives the snapshot of every cycle.

Plain synchronous code. `cache` is the only door: it takes in objects of `decode`, and decisions.
`kinds` is the table of what is watched: a row joins how a kind is read with its store.

| module          | promise                                                          |
|-----------------|------------------------------------------------------------------|
| cache           | takes in every object and every decision, and makes snapshots    |
| cache_rules     | what the settings say of how it is kept                          |
| kinds           | the one table of kinds that are watched: readers and stores      |
| pod_store       | pods, our own decisions included                                 |
| object_stores   | the stores of all other kinds. Both say what an event means:     |
|                 | nothing, gangs touched, room freed, trees or queues changed;     |
|                 | which waiting gangs that wakes is in `gangs.queueing_hints`      |
| changes         | that meaning (`Change`), and the signals to loop and writers     |
| device_classes  | which resources DeviceClasses offer                              |
| node_usage      | nodes, and what the pods on them use                             |
| elastic_surplus | which surplus of elastic gangs may be evicted, in which steps     |
| evictable_pods  | the pods on nodes as preemption sees them                        |
| terminating     | pods that leave their nodes, and victims that will               |
| checkpoints     | what gangs have saved, and which of them are asked to            |
| evictions       | which gangs of queues were evicted, how often and for which      |
| victims         | evictions that are decided, before the API server shows them     |
| nominator       | waiting pods that room is reserved for, and assumed nominations  |
| gangs           | gangs, their members, and whether to try them                    |
| queues          | queues as declared, that of each gang, and what is charged       |
| suspended       | workloads that wait without pods, and those that were let start  |
| provisioning    | requests for nodes, and what is charged while they stand         |
| pod_affinity    | selectors of pods, and the pods that they match                  |
| volumes         | claims and volumes, with assumed bindings                        |
| budgets         | PodDisruptionBudgets                                             |
| refused_shapes  | what kubelets have refused lately                                |
| failed_nodes    | the nodes that count as failed                                   |
| degraded_gangs  | gangs that run and have lost members with failed nodes           |
| topologies      | the topology trees in force                                      |
| pod_classes     | pod classes, completed by what is known only in this cluster     |
| pruning         | drops records of what is gone, once they are many                |
| foreign_members | gangs with members of another scheduler                          |
"""
