"""Gangs: their members, their groups, and whether a cycle tries them.

| module                 | promise                                               |
|------------------------|-------------------------------------------------------|
| gang_queue             | all gangs, and those that are due                     |
| decisions              | what was decided on gangs, and what came of it        |
| deadlines              | when the schedule timeouts of gangs end               |
| gang_info              | what is known of one gang: its `records`, and what    |
|                        | follows from several of them                          |
| grouping               | the groups of gangs that the scheduler sees           |
| group_memo             | these groups, for as long as they would be the same   |
| group_graph            | which gangs name which others                         |
| group_topology         | what the gangs of a group request together            |
| gangs_by_workload      | which gangs have pods of a workload                   |
| job_sizes              | how many pods a Job can have                          |
| misplaced_requests     | the pods whose workload asks in the wrong place       |
| made_for               | which PodGroups a controller made for its workload    |
| train_jobs             | the pods of JobSets that TrainJobs own                |
| failed_jobs            | the gangs whose Jobs have all failed                  |
| plan_annotations       | what bindings tell of the plan that they were made by |
| preemption_eligibility | whether a gang may preempt                            |
| vain_rounds            | which owners have evicted for nothing of late         |
| queueing_hints         | which waiting gangs are woken when room is freed or   |
|                        | trees change, by the reason that they wait for        |
| backoff                | when a gang that was refused, or whose bindings       |
|                        | failed, is tried again without any event              |
| cycle_share            | which of thousands of changed gangs a cycle takes     |
| set_aside              | the groups on which decisions take too long, and when |
|                        | these are tried again                                 |
| untried                | the gangs that cycles have left, and when those that  |
|                        | were left for long have a cycle of their own          |
| phases                 | the phase of a gang, as its status says it            |
"""
