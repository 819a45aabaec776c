"""Nodes must declare the kubelet features that a pod needs.

Semantics of kube-scheduler's NodeDeclaredFeatures.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass

obstacle: Final = Obstacle(
    "FEATURES",
    "lacks a feature that the pod needs",
    "lack a feature that the pod needs",
    is_quoted=True,
)


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that declare all features that the pod needs."""
    if not pod_class.features:
        return np.ones(len(nodes), dtype=np.bool_)
    needed = frozenset(pod_class.features)
    return np.array([needed <= node.features for node in nodes.nodes], dtype=np.bool_)


def reasons(_pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    return Counter({"node(s) didn't match Pod's required features": int(rejected.sum())})
