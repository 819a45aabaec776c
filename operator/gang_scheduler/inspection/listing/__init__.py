"""Lists of gangs in scheduling order, of queues, and of nodes with their use.

Open `gangs` first.
"""
