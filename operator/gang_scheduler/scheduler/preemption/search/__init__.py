"""The cheapest victims for one preemptor. Open `cheapest.py` first.

| module        | promise                                                   |
|---------------|-----------------------------------------------------------|
| cheapest      | the cheapest victims in any domain; of equal ones, which  |
| candidates    | the domains to look at, and what each costs at least      |
| likeness      | domains that are alike: the first one stands for all      |
| exhaustive    | few victims: the cheapest set, by branch and bound        |
| choices       | what can be evicted or left in that search                |
| eviction_sets | many victims: the cheapest first, with all that go along  |
| in_order      | many victims where there are queues: the first that serve |
"""
