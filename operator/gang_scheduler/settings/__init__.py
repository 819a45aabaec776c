"""Every setting, by subject.

| module       | promise                                                                |
|--------------|------------------------------------------------------------------------|
| run          | all settings of the operator, from flags and the environment           |
| policy       | those that decisions depend on, joined of the next five                |
| gangs        | what is a gang, where its members go, and what a failed node is        |
| preemption   | which pods are evicted for gangs that do not fit                       |
| queues       | whose queues count, what quotas count, and the order of turns          |
| reservations | to which gangs a start is promised, and what may pass these            |
| workloads    | what waits without pods, and the nodes that are bought                 |
| eviction     | how pods are evicted, and what becomes of gangs that lost some         |
| choices      | the settings that are one of some words, and what each word means      |
| values       | the settings with a form of their own, and what is no such value       |
"""
