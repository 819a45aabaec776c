"""Frozen nouns that the scheduler decides on. No I/O, no clock, integers only.

| module           | promise                                                                |
|------------------|------------------------------------------------------------------------|
| pods             | a pod, and what it asks of a node                                      |
| bound_pods       | the pods on nodes, and what protects them from eviction                |
| gangs            | a gang that waits, and the groups of gangs that start together         |
| suspended        | workloads that wait without pods, and what is decided about them       |
| virtual_pods     | the members of these, made when they are looked at                     |
| gang_sources     | the sources of gangs and their order, without labels                   |
| problems         | the reasons why gangs wait                                             |
| causes           | why gangs wait, as data that messages are made of                      |
| nodes            | a node, and all nodes of a snapshot as columns                         |
| failed_nodes     | which nodes count as failed                                            |
| degraded         | what a gang that runs lacks since nodes have failed                    |
| resources        | quantities, and amounts in milli-CPU, bytes and counts                 |
| affinity         | node selectors, label selectors, and affinity between pods             |
| volumes          | what the volumes of a pod need of a node, and the volumes there are    |
| network          | topology trees, and the topology requests of gangs                     |
| queues           | queues: what each is promised, and what is charged to it               |
| provisioning     | requests for nodes, by `provisioning_rules`                            |
| charged_requests | what a quota is charged for the requests of a pod                      |
| evictions        | which gang gives way to which, and by what right                       |
| checkpoints      | how gangs save their work, and what is known of what they saved        |
| refs             | references to gangs by name, and to pods, claims and volumes with uid  |
| records          | nouns of which there are very many, made fast                          |
| remembered       | what was found out before, in bounded memory                           |
| names            | natural order of names                                                 |
| likeness         | which of some names may be meant by one that is none of them           |
| snapshot         | the cluster at one moment, as the scheduler sees it                    |
| plan             | what a cycle decided: binds, evictions, and a reason for every refusal |
"""
