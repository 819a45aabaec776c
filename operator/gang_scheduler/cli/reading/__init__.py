"""Options and cluster access that all read-only commands share.

Open `cluster_sources` first.
"""
