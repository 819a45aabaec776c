"""Frozen nouns on which the scheduler decides. No I/O, no clock, integers only.

Open `snapshot` first, then `gangs` and `plan`.
"""
