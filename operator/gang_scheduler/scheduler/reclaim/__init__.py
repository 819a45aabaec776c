"""The running gangs that a gang may evict, in its own queue and in other queues.

Open `legal_victims` first.
"""
