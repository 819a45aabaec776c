"""Why gangs wait, as data: each kind of cause with the numbers and names that a message needs.

All are hashable, and equal where they say the same. Their words are in `report/texts/causes`, so a
cause may have more fields than the text of today shows.

| module     | promise                                                             |
|------------|---------------------------------------------------------------------|
| specs      | what describes a gang, its members or its group is wrong or missing |
| members    | members are missing, or wait while others do not                    |
| topology   | a topology request, or where bound members are                      |
| binding    | a binding failed, or room that was held for one is lost             |
| claims     | claims that members are bound after                                 |
| preemption | a preemption was given up                                           |
| queues     | a gang has no queue that can admit it                               |
| admission  | a queue does not admit a gang, or not yet                           |
| provisioning | nodes that are bought, or cannot be                               |
| admissions | a suspended workload was not started                                |
| errors     | errors of ours                                                      |
"""
