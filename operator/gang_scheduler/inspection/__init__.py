"""Answers about a cluster as it is now: what waits, why, and what is where. Read-only.

It uses the same cache and core as `run` and `simulate`, filled once from one of several sources.
Open `cluster` first.
"""
