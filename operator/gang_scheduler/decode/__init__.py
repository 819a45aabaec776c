"""From objects to nouns of the model: pure, and a refusal names the field and the value.

| module            | promise                                                               |
|-------------------|-----------------------------------------------------------------------|
| event_handlers    | one function for each event of each kind: decode it, tell the sink    |
| sink              | the protocol of what takes in what was decoded                        |
| fields            | single fields: structs, times, amounts, whole numbers, label keys     |
| json_fields       | fields of JSON in annotations                                         |
| resource_versions | which of two states of an object is the newer one                     |
| unreadable        | what still holds of an object that cannot be read                     |
| pods              | pods                                                                  |
| gangs             | what objects and pods say of gangs                                    |
| nodes             | nodes                                                                 |
| namespaces        | namespaces                                                            |
| budgets           | PodDisruptionBudgets                                                  |
| topologies        | ClusterNetworkTopologies                                              |
| kueue_topologies  | Topologies of Kueue                                                   |
| volumes           | claims, volumes and what makes them; `volume_objects` are the results |
| label_selectors   | label selectors of any kind                                           |
"""
