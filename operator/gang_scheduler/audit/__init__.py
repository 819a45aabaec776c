"""A witness: it watches a cluster, and says what the scheduler must not have done.

It shares no code with what it judges. It has a reader of raw objects of its own, counts quantities
on its own, and imports nothing of state/, scheduler/, apply/ and what is around them; that is a
contract in pyproject.toml. Shared are the names of labels, annotations and kinds (api/), since
they are what users and both programs agree on, and the connection to the API server (client/).

    stream -> auditor (world, rules) -> findings

| module        | promise                                                       |
|---------------|---------------------------------------------------------------|
| stream        | events of a cluster and of a file                             |
| kinds_watched | which kinds are looked at                                     |
| auditor       | takes events in, and returns findings                         |
| standing      | what is wrong with a cluster as it is, without its history    |
| world         | what is there, and what was there a moment ago                |
| bound         | a binding, with what was beside it                            |
| due           | cases that are judged when all watches have caught up         |
| versions      | versions of objects within the last minutes                   |
| objects       | pods, nodes, selectors and amounts, as they are read here     |
| gangs         | the gang of a pod                                             |
| quorums       | how many of a gang, and which gangs, must be bound together   |
| workloads     | gangs of workloads without a PodGroup                         |
| networks      | network domains of nodes, and what gangs ask of them          |
| victims       | which pods were evicted for which gang                        |
| quota         | the tree of queues, and what they are charged                 |
| rules         | what must not be                                              |
| findings      | what was found, as lines of JSON                              |
| metric        | how many were found, for Prometheus                           |
"""
