"""By which right a gang evicts others, of its own queue and of other queues.

Open `rights` first.
"""
