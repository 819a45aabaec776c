"""Queues as their objects declare them, the queue of each gang, and the charges on each queue.

Open `declared` first.
"""
