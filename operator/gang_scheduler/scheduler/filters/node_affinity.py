"""nodeSelector and required node affinity.

Semantics of kube-scheduler's NodeAffinity.
"""

from collections import Counter

import numpy as np

from gang_scheduler.model.node_terms import any_term
from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.pods import Ask


def passes(ask: Ask, nodes: NodeTable) -> BoolArray:
    """Return the nodes with the wanted labels and names."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    for key, value in ask.node_selector:
        allowed &= nodes.label(key).matches([value])
    if ask.affinity is not None:
        allowed &= any_term(ask.affinity, nodes)
    return allowed


def reasons(_ask: Ask, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """One reason for all."""
    return Counter({"node(s) didn't match Pod's node affinity/selector": int(rejected.sum())})
