"""Pure verbs: a snapshot in, a plan out. Open `cycle.py` first.

| module          | promise                                                              |
|-----------------|----------------------------------------------------------------------|
| cycle           | one cycle in numbered steps: order, admit, place, preempt            |
| steps           | what a cycle can do with one group, on what was decided before       |
| refusals        | why gangs wait, as far as a cycle has come                           |
| turns           | the order with queues: turns, flavors and quota                      |
| profile         | the one page that lists every policy; `policies` are their protocols |
| admission       | which groups can be tried at all, and why other groups cannot        |
| units           | members that are placed together, by topology request                |
| quorums         | places the quorums of a group                                        |
| surplus         | places members beyond the quorum                                     |
| placement       | where members go                                                     |
| elastic         | how many workers of elastic gangs come, and which go                 |
| preemption      | which pods are evicted so that a whole group fits                    |
| rights          | by what right a gang of a queue evicts others                        |
| filters         | what makes a node refuse a pod, one policy a file                    |
| preferences     | which nodes a pod would rather have, one a file                      |
| ordering        | which gang comes first, one policy a file                            |
| quota           | what each queue may use, and what is charged to it                   |
| reservation     | starts that big gangs are promised, and which gangs go before them   |
| provisioning    | which gangs ask for nodes, and for which                             |
| trial           | what is assumed within a cycle, with exact undo                      |
| ledgers         | what a trial assumes of ports, volumes and selectors                 |
| volume_topology | which volumes each node reaches, and where new ones can be made      |
| label_domains   | sums over the nodes with the same value of a label                   |
| known_misfits   | what did not fit before in this cycle                                |
| effort          | how much is searched in one cycle                                    |
| spare_nodes     | which nodes are kept for members that replace lost ones              |
| largest         | how many members of one shape fit a domain of each layer             |
| oversized       | what a pod asks that no node has, however empty it is                |
| diagnosis       | what kept members from nodes, and what the next one is short of      |
| explanation     | why one gang waits, and what would help: asked at its turn           |
| empty_cluster   | whether a group that waits would fit the nodes without pods          |
"""
