"""Gangs: their members, their groups, and whether a cycle tries them.

| module                 | promise                                               |
|------------------------|-------------------------------------------------------|
| gang_queue             | all gangs, and those that are due                     |
| gang_info              | what is known of one gang                             |
| grouping               | the groups of gangs that the scheduler sees           |
| group_graph            | which gangs name which others                         |
| group_topology         | what the gangs of a group request together            |
| job_sizes              | how many pods a Job can have                          |
| plan_annotations       | what bindings tell of the plan that they were made by |
| preemption_eligibility | whether a gang may preempt                            |
| queueing_hints         | which refusals a change may have made untrue; the     |
|                        | events themselves come from `state.cache`             |
| backoff                | when a gang that was refused, or whose bindings       |
|                        | failed, is tried again without any event              |
| phases                 | the phase of a gang, as its status says it            |
"""
