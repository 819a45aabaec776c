"""Answers about a cluster as it is now: which gangs wait and why, and what runs where.

Read-only. It uses the same cache and core as `run` and `simulate`, filled once from one of several
sources. Open `cluster` first.
"""
