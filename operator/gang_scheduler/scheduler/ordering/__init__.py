"""Which gang comes first, one policy a file: without queues, and between the queues of a tree.

Open `fairness` first: its table has those of queues, which `queue_turns` puts to use.
"""
