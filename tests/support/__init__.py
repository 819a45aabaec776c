"""What tests of several kinds have in common: builders, clusters in memory, readers of plans.

A helper of one kind of tests is in the `support` of that kind. What each cluster in memory has of
the operator, and what becomes of a plan in it:

| cluster                               | API server | plans                                     |
|---------------------------------------|------------|-------------------------------------------|
| in_memory_cluster                     | none       | members run at once                       |
| large_cluster                         | fake       | not carried out: only verdicts are noted  |
| binder_harness, volume_harness        | fake       | the binder writes them, and nothing else  |
| topology_harness                      | fake       | none: topologies and their status         |
| scheduler_process, search/lives       | fake       | all parts carry them out, in faked time   |
| property/worlds, property/networks    | none       | one decision on a snapshot                |

All that take plans in do it by `applying.take_in`, and all with a fake API server see it by
`watches`. The model in `e2e/model` tells the rules once more, and shares no line with the product.
"""
