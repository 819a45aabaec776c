"""Carries a plan out: binds, evicts, and takes back what cannot be completed.

| module            | promise                                                        |
|-------------------|----------------------------------------------------------------|
| plan              | takes a plan into the state, and hands it to the writers       |
| binder            | binds a placed gang: which answers (429, none) it repeats, for |
|                   | how long; the pauses are those of `client.retry`               |
| gang_binding      | members that are bound together, with the outcome of each      |
| outcomes          | the queue of the outcomes of writes                            |
| volume_binder     | binds the claims of placed gangs before any of their pods      |
| claim_waits       | the gangs that wait for claims while their room is held        |
| evictor           | nominates, marks and evicts                                    |
| checkpoints       | has gangs save their work before that                          |
| preemption_run    | the steps of one preemption                                    |
| disruption_target | the condition DisruptionTarget of victims                      |
| orphaned_marks    | DisruptionTarget conditions that an earlier process left       |
| lost_nominations  | gangs whose nominated room was taken                           |
| member_bodies     | members as objects, also those that nothing has created yet    |
| provisioner       | creates and deletes requests for nodes: what they say is in    |
|                   | `provisioning_bodies`                                          |
| admitter          | starts suspended workloads that were admitted                  |
| suspender         | suspends them again                                            |
| workload_patches  | the patches that start and suspend workloads                   |
| workload_objects  | reads and patches workloads, in whatever version               |
| whole_workloads   | workloads that lose all of their pods, and are suspended       |
| drainer           | evicts what runs in queues that are drained                    |
| stuck_victims     | victims that do not terminate in time                          |
| stuck_members     | members on failed nodes that do not go, and may be removed     |
| degraded_evictions| gangs evicted whole that find no room for lost members         |
| partial_gangs     | gangs bound in part past their timeout: deletes the members    |
|                   | that are bound if the setting `onPartialGang` is Release       |
"""
