"""From objects to nouns of the model: pure, and a refusal names the field and the value.

| module            | promise                                                               |
|-------------------|-----------------------------------------------------------------------|
| event_handlers    | takes the events of each kind in: decode it, tell the sink            |
| pacing            | takes changes of objects that are dear to read in now and then        |
| reader            | how objects of a kind are read: one half of a row of `state.kinds`    |
| sink              | the protocol of what takes in what was decoded                        |
| left_out          | the queue of objects that cannot be read                              |
| texts             | how long the texts of an object may be                                |
| fields            | single fields: structs, times, amounts, whole numbers, label keys     |
| durations         | Go durations, and how long pods are declared to run                   |
| json_fields       | fields of JSON in annotations                                         |
| device_classes    | DeviceClasses: which resources stand for devices that are claimed     |
| foreign_marks     | keys of other products: which are read, refused or passed over        |
| keys              | keys that look like ones that are read, and are not                   |
| resource_versions | which of two states of an object is the newer one                     |
| unreadable        | what still counts of an object that cannot be read                    |
| checkpoints       | how gangs save their work, and what they report of it                 |
| pods              | pods                                                                  |
| gangs             | gangs, as objects and pods declare them                               |
| queues            | queues, and what objects say of the one that they are charged to      |
| network           | network topologies, and what gangs request of them                    |
| queues            | queues of three products, flavors, and the objects around them        |
| workloads         | kinds of workloads: Jobs, JobSets and others, one table of all        |
| provisioning      | requests for nodes, and how Kueue configures them                     |
| priority_classes  | PriorityClasses, and the priority that each gives a pod               |
| names             | names and labels that an API server refuses                           |
| nodes             | nodes                                                                 |
| namespaces        | namespaces                                                            |
| budgets           | PodDisruptionBudgets                                                  |
| volumes           | claims, volumes and other storage objects, into `volume_objects`      |
| label_selectors   | label selectors of any kind                                           |
"""
