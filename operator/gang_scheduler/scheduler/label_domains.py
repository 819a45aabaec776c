"""Sums over the nodes that have the same value of a label: the domains of a topology key."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray, LabelColumn, NodeTable


class Caps(NamedTuple):
    """How many pods of a class each domain of a key may get at once.

    `domains` are codes by node row, ABSENT for nodes without the label, which have no limit; `most`
    is by code.
    """

    domains: IntArray
    most: IntArray


def by_domain(column: LabelColumn, counts: IntArray) -> IntArray:
    """Return the counts summed by domain, by code; nodes without the label are left out."""
    # Code -1 temporarily counts as a domain.
    sums = np.bincount(column.codes + 1, weights=counts, minlength=len(column.values) + 1)
    found: IntArray = sums[1:].astype(np.int64)
    return found


def in_domain(column: LabelColumn, counts: IntArray) -> IntArray:
    """Return for each node the sum over its domain; 0 for a node without one."""
    codes = column.codes + 1
    sums = np.bincount(codes, weights=counts, minlength=len(column.values) + 1)
    sums[0] = 0
    found: IntArray = sums[codes].astype(np.int64)
    return found


def has_domain(column: LabelColumn) -> BoolArray:
    """Return the nodes that have the label."""
    labelled: BoolArray = column.codes != ABSENT
    return labelled


def has_domains(keys: Iterable[str], nodes: NodeTable) -> BoolArray:
    """Return the nodes that have all these labels; of thousands of keys, most are never read."""
    labelled = np.ones(len(nodes), dtype=np.bool_)
    for key in keys:
        column = nodes.label(key)
        if not column.values:
            return np.zeros(len(nodes), dtype=np.bool_)
        labelled &= has_domain(column)
    return labelled


def one_node_each(key: str, nodes: NodeTable) -> bool:
    """Return whether no two nodes share a domain, as with hostnames. Computed once per table."""

    def compute() -> bool:
        column = nodes.label(key)
        present = column.codes[has_domain(column)]
        return len(np.unique(present)) == len(present)

    return nodes.cached(("one node each", key), compute)
