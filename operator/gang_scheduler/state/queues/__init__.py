"""Queues as their objects declare them, and the objects around them.

| module          | promise                                                           |
|-----------------|-------------------------------------------------------------------|
| declared_queues | queues and flavors of all products, and the set that is in force  |
| kueue_objects   | LocalQueues, WorkloadPriorityClasses and AdmissionChecks, by name |
| stores          | how these are put in, forgotten and listed, kind by kind          |
"""
