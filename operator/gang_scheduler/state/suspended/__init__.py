"""Workloads that wait suspended, as gangs without pods, and workloads that were started.

Open `workloads` first.
"""
