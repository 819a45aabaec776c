"""Carries a plan out: binds, evicts, asks for nodes, and takes back what cannot be completed.

Open `plan` first.
"""
