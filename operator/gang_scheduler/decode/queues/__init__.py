"""Queues, and the objects around them: from the objects of each product to the nouns of the model.

What cannot be read raises InvalidField with the field and the value. What can be read and makes no
sense is the `problem` of the queue: it is inactive, and its status says why.

| module        | promise                                                                   |
|---------------|---------------------------------------------------------------------------|
| declared      | what an object says of a queue or a flavor, beside the nouns of the model |
| ours          | our Queues                                                                |
| kueue         | ClusterQueues and Cohorts                                                 |
| kueue_objects | LocalQueues, WorkloadPriorityClasses and AdmissionChecks                  |
| volcano       | Queues of Volcano                                                         |
| flavors       | ResourceFlavors, Kueue's and ours                                         |
| values        | single values: amounts of quotas, weights, words out of a few             |
| unreadable    | what still holds of a queue that cannot be read                           |
| naming        | what pods and the objects of gangs say of the queue of their gang         |
"""
