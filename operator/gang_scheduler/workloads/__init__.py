"""Kinds of workloads: the gang that each declares, and the pods that its controller would create.

A new kind is its file, its rows in the tables of `table`, and its cases. Open `table` first.
"""
