"""A cycle with queues: which group is tried next, and how much it may be charged.

Open `by_turns` first.
"""
