"""Statuses, notes and metrics of queues, made from figures passed in. Open `status` first.

`gang_texts` is about gangs in queues: their evictions, positions and promised starts.
"""
