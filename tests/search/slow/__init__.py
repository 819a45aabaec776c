"""Looks for slow worlds: clusters on which a cycle, or the handler of one object, takes long."""
