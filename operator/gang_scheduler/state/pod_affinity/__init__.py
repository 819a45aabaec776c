"""Which pods the selectors of other pods match, and how many there are.

| module         | promise                                                 |
|----------------|---------------------------------------------------------|
| matches        | selectors that pods carry, and the pods that they match |
| selector_index | inverted index of selectors and pods                    |
| counts         | matching pods on each node                              |
| namespaces     | namespaces and their labels                             |
"""
