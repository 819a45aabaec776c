"""The scheduler without a cluster: manifests in, decisions out, by the code that `run` calls.

Open `run` first.
"""
