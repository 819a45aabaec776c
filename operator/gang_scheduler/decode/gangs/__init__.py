"""Gangs, as objects and pods declare them.

| module            | promise                                                                   |
|-------------------|---------------------------------------------------------------------------|
| membership        | the table of membership rules: the ways in which a pod names its gang     |
| gang_specs        | quorum, options and topology request of a gang, from an object or members |
| workloads         | gangs that Jobs and JobSets declare                                       |
| gang_objects      | the objects that describe gangs, each with all that it says               |
| gang_annotations  | the options of a gang in annotations                                      |
| topology_requests | the topology request of a gang, from its annotation or native constraint; |
|                   | those of Kueue's annotations on pods are in `decode.pods.podsets`         |
"""
