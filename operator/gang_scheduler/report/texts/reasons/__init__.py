"""What every reason means, whose turn it is, and what to do: docs/reasons.md is made of it.

| module     | promise                                                          |
|------------|------------------------------------------------------------------|
| entry      | an entry of a table of reasons                                   |
| waiting    | why gangs wait: reasons of PodScheduled and of Scheduled         |
| conditions | conditions of PodGroups, and their reasons                       |
| queues     | conditions of Queues and topologies, and their reasons           |
| events     | reasons of Events                                                |
"""
