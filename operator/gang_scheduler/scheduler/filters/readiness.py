"""Nodes that are not Ready are rejected, unless the pod tolerates the `not-ready` taint.

This is stricter than kube-scheduler, which looks only at the taint, so it may bind to a node in the
seconds between its failure and the taint.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, Taint
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.filters import taints

obstacle: Final = Obstacle("NOT_READY", "is not ready", "are not ready", is_out=True)

NOT_READY = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the ready nodes; all nodes for a pod that tolerates unready ones."""
    if taints.tolerated(pod_class.tolerations, NOT_READY):
        return np.ones(len(nodes), dtype=np.bool_)
    return nodes.ready


def reasons(_pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    return Counter({"node(s) were not ready": int(rejected.sum())})
