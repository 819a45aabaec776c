"""Sums over the nodes that have the same value of a label: the domains of a topology key."""

from typing import NamedTuple

import numpy as np

from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray, LabelColumn, NodeTable


class Caps(NamedTuple):
    """How many pods of a class may come to the domains of a key at once, whichever these are.

    `domains` are codes by node row, ABSENT for nodes in none, where there is no limit; `most` is
    by code.
    """

    domains: IntArray
    most: IntArray


def in_domain(column: LabelColumn, counts: IntArray) -> IntArray:
    """Return what is counted in the whole domain of each node; 0 where a node is in none."""
    # Code -1 is a domain of its own for a moment: nodes without the label.
    sums = np.bincount(column.codes + 1, weights=counts, minlength=len(column.values) + 1)
    sums[0] = 0
    found: IntArray = sums[column.codes + 1].astype(np.int64)
    return found


def has(column: LabelColumn) -> BoolArray:
    """Return the nodes that have the label."""
    labelled: BoolArray = column.codes != ABSENT
    return labelled


def one_node_each(key: str, nodes: NodeTable) -> bool:
    """Tell whether no two nodes share a domain, as with hostnames. Computed once a table."""

    def compute() -> bool:
        codes = nodes.label(key).codes
        present = codes[codes != ABSENT]
        return len(np.unique(present)) == len(present)

    return nodes.derive(("one node each", key), compute)
