"""Kinds of jobs: the gang that each declares, and the pods that its controller would create.

A new kind is its file, its line in `table`, and its rules in the roles of the chart. Open `table`
first, then `kind`, which defines a row.
"""
