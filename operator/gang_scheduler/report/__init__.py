"""Tells users what was decided: statuses, conditions and Events.

| module           | promise                                                      |
|------------------|--------------------------------------------------------------|
| status_writer    | the status of PodGroups, and PodScheduled of pods, coalesced |
| pod_group_status | the status of a PodGroup                                     |
| gang_events      | the Events of gangs                                          |
| pod_events       | the Events of members: why they wait, where they were bound  |
| decision_log     | a log line for each gang that is bound, preempts, or waits   |
| unprotected_jobs | the Events of Jobs that evictions end                        |
| misplaced_events | the Events of workloads that ask for a gang in vain           |
| refusal_events   | the Events of pods that a kubelet has not taken              |
| degraded_events  | the Events of gangs whose nodes have failed                  |
| about_gangs      | which object an Event of a gang is about                     |
| workload_events  | the Events of workloads that wait suspended                  |
| missing_members  | the Events of gangs whose members may never come             |
| left_out_events  | the Events of objects that cannot be read                    |
| forbidden_kinds  | the Events of kinds that the scheduler may not read          |
| leader_events    | the Events of the Lease: which replica leads, and since when |
| events           | Events, at a bounded rate                                    |
| provisioning_events | the Events of requests for nodes                          |
| by_namespace     | what is to be told, by namespaces that take turns            |
| token_bucket     | the rate: so many a second, and a burst                      |
| topology_writer  | writes the status of ClusterNetworkTopologies                |
| topology_status  | the status of a ClusterNetworkTopology                       |
| checkpoints      | what gangs have saved, and what came of asking them          |
| queues           | queues: the status of our objects, and metrics               |
| usage_sweep      | compares what queues are charged with a sum made anew        |
| backpressure     | lets bindings go first                                       |
| measures         | what metrics say of gangs, decisions and the cluster         |
| texts            | the words for reasons and causes                             |
"""
