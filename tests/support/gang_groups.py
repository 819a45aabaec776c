"""Gangs that name each other, and the groups that they are."""

import json

from support.in_memory_cluster import InMemoryCluster


def naming(*names: str) -> str:
    """Return the value of the annotation `groups`."""
    return json.dumps(names)


def groups(cluster: InMemoryCluster) -> list[tuple[str, ...]]:
    """Return the groups that are due, by the names of their gangs."""
    due = cluster.cache.snapshot(cluster.now).groups
    return sorted(tuple(str(each.key) for each in group.gangs) for group in due)


def two(cluster: InMemoryCluster, a: str = naming("default/b"), b: str = "[]") -> None:
    """Add gangs `a` of two members and `b` of one, with what they name."""
    cluster.gang("a", 2, groups=a)
    cluster.gang("b", 1, groups=b)
