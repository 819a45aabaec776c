"""Everything that talks to Kubernetes: watch, cache, bind, evict, status, Events.

| module            | promise                                                                    |
|-------------------|----------------------------------------------------------------------------|
| watching          | the kinds that are watched, and the two sources that hand them to `intake` |
| wire, decode      | what is read of each kind, and the translation of it into the model        |
| peers             | what pods ask of each other, who is meant, and how many there are          |
| volumes           | claims and volumes, and how claims are bound before their pods             |
| dressing          | asks with what is known only in this cluster: peers and volumes            |
| sources           | the table of ways in which a pod says what gang it belongs to              |
| declarations      | what objects and members say of a gang; `owners` reads Jobs and JobSets    |
| topology_requests | what a gang as a whole asks of the network                                 |
| podsets           | what a pod's own annotations ask of it; `ranks` its place among the others |
| gatherings        | what the gangs of a group ask together, and where they contradict          |
| assembly          | the groups that the scheduler sees; `groups` knows which gangs name others |
| cache             | the cluster as last seen; `room` holds nodes and usage, `gangs` membership |
| tenancy           | who is on the nodes and may be evicted; `budgets` are their PDBs           |
| eligibility       | whether a gang may evict others; `nominations` are those that wait for it  |
| topologies        | the trees in force; `kueue_topologies` reads those of Kueue                |
| topology_writer   | the status of a ClusterNetworkTopology, as `topology_status` words it      |
| connection        | who we are to the API server, and how it is reached; `http1` asks it       |
| ports             | the protocols between the parts; `kubernetes` and `fake` implement the API |
| binder            | binds a placed gang and settles what an answer left open                   |
| evictor           | nominates, marks and evicts; `rounds` has its steps, `marks` their words   |
| strays            | marks that an earlier life left for nobody                                 |
| losses            | who lost the room that was made for it; `lingering` who does not leave it  |
| status            | phases, conditions and counts, coalesced; `events` tells people            |
"""
