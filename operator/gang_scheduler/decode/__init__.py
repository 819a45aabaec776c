"""From objects to nouns of the model: pure, and a refusal names the field and the value.

| module            | promise                                                               |
|-------------------|-----------------------------------------------------------------------|
| event_handlers    | one function for each event of each kind: decode it, call the sink    |
| sink              | the protocol of the sink, which takes in decoded objects              |
| fields            | single fields: structs, times, amounts, whole numbers, label keys     |
| json_fields       | fields of JSON in annotations                                         |
| resource_versions | which of two states of an object is the newer one                     |
| unreadable        | what still counts of an object that cannot be read                    |
| pods              | pods                                                                  |
| gangs             | gangs, as objects and pods declare them                               |
| nodes             | nodes                                                                 |
| namespaces        | namespaces                                                            |
| budgets           | PodDisruptionBudgets                                                  |
| topologies        | ClusterNetworkTopologies                                              |
| kueue_topologies  | Topologies of Kueue                                                   |
| volumes           | claims, volumes and other storage objects, into `volume_objects`      |
| label_selectors   | label selectors of any kind                                           |
"""
