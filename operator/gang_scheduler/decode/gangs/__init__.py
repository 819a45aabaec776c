"""Gangs, as objects and pods declare them.

| module              | promise                                                                   |
|---------------------|---------------------------------------------------------------------------|
| gang_specs          | quorum, options and topology request of a gang, from an object or members |
| gang_objects        | the objects that describe gangs, each with all that it says               |
| gang_annotations    | the options of a gang in annotations                                      |
| roles               | the roles of a gang in an annotation, each with its minimum               |
| elastic             | between how many workers a gang may grow and shrink, and at what pace     |
| made_for            | a PodGroup with the roles of the workload that it was made for            |
| evictions           | what a status remembers of evictions                                      |
| suspended_workloads | workloads that wait suspended, and those that were let start              |
| native_constraints  | the topology constraint of a native PodGroup                              |
"""
