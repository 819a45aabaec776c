"""What each queue may use: trees of promises, and what is charged to them. Exact integers.

| module    | promise                                                                     |
|-----------|-----------------------------------------------------------------------------|
| forest    | all trees with what is charged: what fits, what is lacking, charge, release |
| trees     | the queues in order, parents first, and the way from each to its root       |
| relations | which queue hangs below which, and what is wrong with that                  |
| promises  | what each queue is promised, may borrow and may hold at most                |
| capacity  | what the nodes of a flavor have                                             |
"""
