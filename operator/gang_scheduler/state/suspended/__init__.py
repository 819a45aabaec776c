"""Workloads that wait suspended, as gangs without pods, and those that were let start.

| module     | promise                                                                 |
|------------|-------------------------------------------------------------------------|
| workloads  | all of these, as others ask for them, and what is to be written         |
| waiting    | those that wait: gangs of virtual pods                                  |
| started    | those that were let start, and of which workload a pod is               |
| kept_room  | the room of all that were let start                                     |
| holds      | the room of one that was let start, until its pods have it              |
| resuming   | the room that an earlier process had begun to hold                      |
| parts      | what a workload makes that has no pods itself: it has the pods          |
| stand_ins  | one pod for each template: what it asks of quota and other pods         |
| priorities | the priorities that pods of templates will have                         |
| admission  | what an admission writes into a workload                                |
"""
