"""Topology trees, and the topology requests of gangs.

| module           | promise                                                         |
|------------------|-----------------------------------------------------------------|
| layers           | the layers of a tree in their order, or what is wrong with them |
| topology         | the tree of domains: which nodes are near each other            |
| topology_request | how close together members must be, and their slices            |
| topology_scope   | what a request means on the trees there are: depths and sizes   |
"""
