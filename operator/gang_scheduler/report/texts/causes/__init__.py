"""The words for causes, a table a subject, as in `model/causes`.

| module     | promise                                                    |
|------------|------------------------------------------------------------|
| entries    | an entry of such a table                                   |
| specs      | what is wrong with, or missing from, what describes a gang |
| members    | members that are missing, or that wait while others do not |
| topology   | topology requests that cannot be met as they are           |
| binding    | bindings that failed, and for room that was held           |
| claims     | claims that members are bound after                        |
| preemption | preemptions that were given up                             |
| queues     | queues that can admit no gang                              |
| admission  | queues that do not admit a gang, or not yet                |
| provisioning | nodes that are bought                                    |
| admissions | suspended workloads that were not started                  |
| errors     | errors of ours                                             |
"""
