"""What tests of several kinds have in common: builders, clusters in memory, readers of plans.

A helper of one kind of tests is in the `support` of that kind.
"""
