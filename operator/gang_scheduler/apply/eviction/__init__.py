"""Nominates, marks and evicts, for gangs that are given the room or because pods must go.

| module             | promise                                                      |
|--------------------|--------------------------------------------------------------|
| evictor            | nominates, marks and evicts                                  |
| preemption_run     | one preemption on its way, and how its steps are written     |
| stages             | the stages of one preemption, as steps                       |
| disruption_target  | the condition DisruptionTarget of victims                    |
| orphaned_marks     | DisruptionTarget conditions that an earlier process left     |
| lost_nominations   | gangs that have lost their nominated room                    |
| drainer            | evicts what runs in queues that are drained                  |
| degraded_evictions | gangs evicted whole that find no room for lost members       |
| stuck_victims      | victims that do not terminate in time                        |
"""
