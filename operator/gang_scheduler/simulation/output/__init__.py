"""What `simulate` prints.

| module  | promise                                                               |
|---------|-----------------------------------------------------------------------|
| report  | the document: what each gang and pod says in JSON and YAML            |
| tables  | the same for people, as tables                                        |
| cells   | how amounts and names are written in tables                           |
| trees   | the network for people: usage, and what domains offer gangs that wait |
| queues  | queues: their figures, and for people as a tree                       |
| queued  | the queue of a gang, its flavors and its place                        |
| provisioning | requests for nodes: those that are there, and those that would be made |
| waiting | what waits in the end, and why                                        |
"""
