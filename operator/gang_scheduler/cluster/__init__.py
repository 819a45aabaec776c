"""Everything that talks to Kubernetes: watch, cache, bind, status, Events.

| module        | promise                                                                     |
|---------------|-----------------------------------------------------------------------------|
| handlers      | every Kopf decorator; each body hands the object to the cache               |
| kopf_source   | runs Kopf inside our task group and starts it again when it ends            |
| wire, decode  | what is read of a pod and a node, and its translation into the model        |
| sources       | the table of ways in which a pod says what gang it belongs to               |
| cache         | the cluster as last seen; `room` holds nodes and usage, `gangs` membership  |
| topologies    | the tree of ClusterNetworkTopology `default`; `topology_writer` its status  |
| sweep         | finds objects that were deleted while no watch was looking                  |
| ports         | the protocols between the parts; `kubernetes` and `fake` implement the API  |
| binder        | binds a placed gang and settles what an answer left open                    |
| status        | phases, conditions and counts, coalesced; `events` tells people             |
"""
