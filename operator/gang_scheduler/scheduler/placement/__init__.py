"""Where members go.

`anywhere` places members without a topology request; `network/gather.py` members with one.

| module         | promise                                                         |
|----------------|-----------------------------------------------------------------|
| anywhere       | members of one gang on any nodes: all that are needed, or none  |
| nominated      | members on the nodes that they are nominated to                 |
| feasible_slots | how many members of a class each node can take                  |
| scoring        | scores of nodes: preferred nodes come first                     |
| binpack        | fullest nodes first; `spread` is the opposite                   |
| utilization    | how full a node is                                              |
| fragments      | the order of equal nodes, by what they cost others              |
| interdependent | members that change each other's slots, placed step by step     |
| one_by_one     | those of one class, each step in a few vector operations        |
| arrangements   | several classes on few nodes; `exact_packing` searches them all |
| counting       | what members need at least, by plain counting                   |
| positions      | places in the rank order, and in slices                         |
| network        | members with a topology request                                 |
"""
