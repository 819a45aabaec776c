"""Gangs, as objects and pods declare them.

| module             | promise                                                                   |
|--------------------|---------------------------------------------------------------------------|
| gang_specs         | quorum, options and topology request of a gang, from an object or members |
| workloads          | gangs that Jobs and JobSets declare                                       |
| gang_objects       | the objects that describe gangs, each with all that it says               |
| gang_annotations   | the options of a gang in annotations                                      |
| evictions          | what a status remembers of evictions                                      |
| native_constraints | the topology constraint of a native PodGroup                              |
"""
