"""Snapshots: a cluster in a file, for bug reports. Open `taking` first.

A snapshot has only the data on which decisions depend.
"""
