"""Which pods are evicted so that a whole gang fits. Open `evaluator.py` first.

| module            | promise                                                          |
|-------------------|------------------------------------------------------------------|
| evaluator         | what becomes of a group that does not fit: it waits, or preempts |
| departures        | what leaves in any case, and the room that this frees            |
| victim_pools      | what each group may evict                                        |
| preemptor         | that group, and the room that it has once victims have left      |
| search            | the cheapest of the pods that may be evicted                     |
| eviction_units    | pods of one gang that go together, summed up                     |
| surplus_steps     | surplus of gangs that shrink by whole steps                      |
| victim_costs      | what may be evicted at what cost, and what goes along with it    |
| tally             | what victims cost, in the order in which costs are compared      |
| potential_victims | all pods that may be evicted, kept for a whole cycle             |
| least_costs       | what it costs at least to clear a slot, for all nodes at once    |
| needs             | what a preemptor needs of the nodes at least                     |
| slots             | how many members would fit as victims leave                      |
| judge             | which victims queues allow together, and how such sets compare   |
| nominated_room    | room that is reserved for nominated pods                         |
"""
