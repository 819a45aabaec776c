"""Which running gangs a gang may evict: of its own queue, and of other queues.

Open `reclaim` first.
"""
