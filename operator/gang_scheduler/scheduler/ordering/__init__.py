"""The order of gangs: without queues, and between the queues of a tree. Open `fairness` first.

Each policy is a file. `fairness` has the table of queue policies; `queue_turns` uses it. The
order of gangs inside a queue is in `turns.lines`.
"""
