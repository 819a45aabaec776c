"""Carries a plan out: binds, evicts, and takes back what cannot be completed.

| module        | promise                                                        |
|---------------|----------------------------------------------------------------|
| plan          | takes a plan into the state, and hands it to the writers       |
| outcomes      | the queue of the outcomes of writes                            |
| binding       | binds placed gangs, and their claims before them               |
| eviction      | nominates, marks and evicts, for whatever reason               |
| checkpoints   | has gangs save their work before that                          |
| workloads     | starts and suspends workloads                                  |
| provisioning  | asks for nodes                                                 |
| member_bodies | members as objects, also those that nothing has created yet    |
| stuck_members | members on failed nodes that do not go, and may be removed     |
| partial_gangs | gangs bound in part past their timeout: deletes the members    |
|               | that are bound if the setting `onPartialGang` is Release       |
"""
