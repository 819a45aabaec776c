"""The order of gangs: without queues, and between the queues of a tree. Open `fairness` first.

`drf`, `drs`, `fair_share` and `priority` each are a fairness of queues. `fairness` has the table of
them; `queue_turns` uses it. `priority_then_age` is the order of gangs without queues. The order of
gangs inside a queue is in `turns.lines`.
"""
