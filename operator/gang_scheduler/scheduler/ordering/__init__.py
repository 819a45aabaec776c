"""Which gang comes first, one policy a file: without queues, and between the queues of a tree.

Open `queue_turns` first.
"""
