"""Programs for people who work on the scheduler. They are no tests, but tests use them.

| program      | what it does                                                    |
|--------------|-----------------------------------------------------------------|
| controlplane | builds, starts and ends a local control plane                   |
| demo         | the examples on it, and what became of them: `make demo`        |
| chaos        | lets faults loose on a cluster that is used: `make chaos`       |
| soak         | churn, and how much memory it takes: `make soak`                |
| bench        | measures speed beside kube-scheduler's: `make bench`            |
"""
