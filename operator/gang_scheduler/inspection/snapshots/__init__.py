"""Snapshots: a cluster in a file, for bug reports, with only the data on which decisions depend.

Open `taking` first.
"""
