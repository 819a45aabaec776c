"""Queues as their objects declare them, which one a gang is in, and what is charged to each.

| module           | promise                                                           |
|------------------|-------------------------------------------------------------------|
| declared_queues  | queues and flavors of all products, and the set that is in force  |
| kueue_objects    | LocalQueues, WorkloadPriorityClasses and AdmissionChecks, by name |
| stores           | how these are put in, forgotten and listed, kind by kind          |
| names            | from the name of a queue to the leaf that it means                |
| gang_queues      | the queue of each gang, by what its objects and members say       |
| workloads        | what Jobs and JobSets say of the queue of their pods              |
| quota_waits      | which waiting gangs are tried when quota is given back            |
| usage            | what is charged to queues, pod by pod                             |
| reservations     | starts that gangs were promised, since when, and which rest       |
| run_times        | how long gangs run, by what they and their Jobs declare           |
| tallies          | the sums that usage consists of                                   |
| running_gangs    | the gangs on nodes, and what is known of them                     |
| recent_usage     | what leaves used lately, by half after a half-life                |
| draining         | the running gangs that must go since their queue is drained       |
| charged_flavors  | the flavors that a pod is charged in                              |
"""
