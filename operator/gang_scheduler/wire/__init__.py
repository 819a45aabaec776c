"""What is read of objects, as the API server sends them. All other fields are skipped.

msgspec checks the types and names the path of a wrong field. The same structs decode the bytes of a
watch and the dicts that Kopf hands out.

| module      | promise                                               |
|-------------|-------------------------------------------------------|
| metadata    | `metadata`, and objects of which nothing else is read |
| pods        | pods and pod templates                                |
| containers  | containers, and their statuses by the kubelet         |
| affinity    | `spec.affinity`: node affinity and pod affinity       |
| spreads     | `spec.topologySpreadConstraints[]`                    |
| pod_volumes | `spec.volumes[]` of a pod                             |
| nodes       | nodes                                                 |
| conditions  | conditions of pods and nodes                          |
| pod_groups  | PodGroups of scheduling.k8s.io                        |
| budgets     | PodDisruptionBudgets                                  |
| volumes     | claims, volumes, classes, drivers and attachments     |
| selectors   | node selectors and label selectors                    |
| quantities  | amounts of resources                                  |
| texts       | how long texts may be, and what is read in place of longer ones |
| structs     | how a struct of any kind is read                      |
| workloads   | workloads, as far as they make gangs                  |
| provisioning | requests for nodes, and how Kueue configures them    |
| queues      | queues of other products, and flavors                 |
"""
