"""Lists of what there is: gangs in the order of turns, queues, and the nodes with what is on them.

| module      | what it holds                                                  |
|-------------|----------------------------------------------------------------|
| decisions   | what a cycle would decide now, and in which order              |
| rows        | a line a gang                                                  |
| waits       | why gangs wait, in one sentence                                |
| briefs      | why gangs wait, in a few words                                 |
| vocabulary  | the words that lists are asked with                            |
| selection   | which lines are asked for, and in which order                  |
| counts      | how many gangs wait                                            |
| labels      | label selectors as kubectl writes them                         |
| ages        | times in short                                                 |
| plain_table | tables of many lines, as wide as they may be                   |
| gang_table  | gangs as a table, and as documents                             |
| queue_lines | a line a queue, made here and now or as it is written          |
| queue_tree  | queues as a tree with bars, and as documents                   |
| shares      | the figure by which queues are compared                        |
| amounts     | which resources of nodes are shown                             |
| domains     | the nodes of each domain of the network                        |
| shapes      | what gangs ask of a node, and how large a gang would start now |
| node_states | which nodes are not ready, cordoned, or tainted                |
| node_view   | a node with what is on it                                      |
| users       | the users of what is scarce                                    |
"""
