"""Cordoned nodes are refused, unless the pod tolerates the taint of cordoning.

Semantics of kube-scheduler's NodeUnschedulable.
"""

from collections import Counter

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, Taint
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.filters import taints

CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def passes(ask: Ask, nodes: NodeTable) -> BoolArray:
    """Return the nodes that are not cordoned, or all for a pod that tolerates it."""
    if taints.tolerated(ask.tolerations, CORDON):
        return np.ones(len(nodes), dtype=np.bool_)
    return ~nodes.unschedulable


def reasons(_ask: Ask, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """One reason for all."""
    return Counter({"node(s) were unschedulable": int(rejected.sum())})
