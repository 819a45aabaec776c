"""What an API server refuses in a manifest, and the fields that it does not know.

| module    | promise                                                                  |
|-----------|--------------------------------------------------------------------------|
| schemas   | the fields of kinds with their types: what is unknown, missing or wrong  |
| pod_specs | the values in the spec of a pod that are refused                         |
| resources | the amounts of a container that are refused                              |
| workloads | the same of what has a pod template: Jobs, Deployments and the like      |
| objects   | all of it for one manifest                                               |

`kubernetes.json` is what an API server publishes of its own kinds; `make schemas` writes it.
"""
