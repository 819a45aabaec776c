"""Gangs, as objects and pods declare them.

| module              | promise                                                                   |
|---------------------|---------------------------------------------------------------------------|
| gang_specs          | what the declaration of a gang says, whichever object it is read from     |
| pod_groups          | that of a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io       |
| native_pod_groups   | that of a PodGroup of scheduling.k8s.io                                   |
| member_specs        | that which members declare                                                |
| remembered          | what the status of a PodGroup remembers of its gang                       |
| gang_objects        | the objects that describe gangs, each with all that it says               |
| gang_annotations    | the options of a gang in annotations                                      |
| roles               | the roles of a gang in an annotation, each with its minimum               |
| elastic             | between how many workers a gang may grow and shrink, and at what pace     |
| made_for            | a PodGroup with the roles of the workload that it was made for            |
| evictions           | what a status remembers of evictions                                      |
| suspended_workloads | workloads that wait suspended, and those that were let start              |
| native_constraints  | the topology constraint of a native PodGroup                              |
"""
