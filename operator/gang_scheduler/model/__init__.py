"""Immutable types that describe the cluster and the decisions on it.

No I/O, no clock, integers only. Open `snapshot` first, then `gangs` and `plan`.
"""
