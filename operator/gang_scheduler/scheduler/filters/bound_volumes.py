"""A pod goes where the volumes of its bound claims are, and nowhere while a claim is not ready.

Semantics of kube-scheduler's VolumeBinding, as far as it depends on the node alone. Volumes of the
in-tree kinds that a CSI driver has taken over are read as they are written.
"""

from collections import Counter

import numpy as np

from gang_scheduler.model.node_terms import terms
from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.pods import Ask


def passes(ask: Ask, nodes: NodeTable) -> BoolArray:
    """Return the nodes that reach every volume which is bound already."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    if ask.storage is None:
        return allowed
    if ask.storage.problem:
        return ~allowed
    for affinity in ask.storage.affinities:
        allowed &= terms(affinity, nodes)
    return allowed


def reasons(ask: Ask, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """One reason for all: what is wrong with a claim, or where its volume is."""
    problem = ask.storage.problem if ask.storage is not None else ""
    words = problem or "node(s) didn't match PersistentVolume's node affinity"
    return Counter({words: int(rejected.sum())})
