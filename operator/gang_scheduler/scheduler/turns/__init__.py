"""A cycle with queues: which group is tried next, and what it may be charged.

Open `by_turns` first.
"""
