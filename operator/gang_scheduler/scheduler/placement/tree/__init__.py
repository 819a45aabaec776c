"""Where members with a topology request go: close together in the tree of network domains.

Open `gather` first.
"""
