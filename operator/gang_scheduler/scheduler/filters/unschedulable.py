"""Cordoned nodes are rejected, unless the pod tolerates the taint of cordoning.

Semantics of kube-scheduler's NodeUnschedulable.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, Taint
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.filters import taints

obstacle: Final = Obstacle("UNSCHEDULABLE", "is cordoned", "are cordoned", is_out=True)

CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that are not cordoned; all nodes for a pod that tolerates cordons."""
    if taints.tolerated(pod_class.tolerations, CORDON):
        return np.ones(len(nodes), dtype=np.bool_)
    return ~nodes.unschedulable


def reasons(_pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    return Counter({"node(s) were unschedulable": int(rejected.sum())})
