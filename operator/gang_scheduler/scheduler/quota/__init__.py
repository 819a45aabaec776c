"""What each queue may use: trees of promises, and what is charged to them. Exact integers.

| module      | promise                                                                     |
|-------------|-----------------------------------------------------------------------------|
| forest      | all trees with what is charged: what fits, what is lacking, charge, release |
| trees       | the queues in order, parents first, and the way from each to its root       |
| relations   | which queue hangs below which, and what is wrong with that                  |
| promises    | what each queue is promised, may borrow and may hold at most                |
| capacity    | what the nodes of a flavor have                                             |
| charges     | what is charged to queues, and how it counts in those above them            |
| room        | how much more a queue may be charged                                        |
| accounts    | charges beside promises, as they are or with a request on top               |
| fair_shares | what each queue should have, by promises, demand and weights                |
| figures     | what is shown of each queue                                                 |
"""
