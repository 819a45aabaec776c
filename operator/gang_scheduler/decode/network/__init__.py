"""Network topologies, and what gangs request of them.

| module           | promise                                                 |
|------------------|---------------------------------------------------------|
| gang_requests    | the annotation for the topology request of a whole gang |
| topologies       | ClusterNetworkTopologies                                |
| kueue_topologies | Topologies of Kueue                                     |
"""
