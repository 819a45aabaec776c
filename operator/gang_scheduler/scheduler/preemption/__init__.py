"""Which pods are evicted so that a whole gang fits. Open `evaluator.py` first.

| module            | promise                                                          |
|-------------------|------------------------------------------------------------------|
| evaluator         | what becomes of a group that does not fit: it waits, or preempts |
| preemptor         | that group, and the room that it has once victims have left      |
| search            | the cheapest victims in any domain; of equal ones, which         |
| candidates        | the domains to look at, and what each costs at least             |
| likeness          | domains that are alike: the first one stands for all             |
| exhaustive        | few victims: the cheapest set, by branch and bound               |
| choices           | what can be evicted or left in that search                       |
| eviction_sets     | many victims: the cheapest first, with all that go along         |
| eviction_units    | pods of one gang that go together, summed up                     |
| victim_costs      | what an eviction costs, in the order in which costs are compared |
| potential_victims | all pods that may be evicted, kept for a whole cycle             |
| needs             | what a preemptor needs of the nodes at least                     |
| slots             | how many members would fit as victims leave                      |
| judge             | which victims queues allow together, and how such sets compare   |
| in_order          | many victims where there are queues: the first that suffice      |
| nominated_room    | room that is reserved for nominated pods                         |
"""
