"""What all reading commands share: their options, and the cluster that these select.

Open `cluster_sources` first.
"""
