"""A pod must run where the volumes of its bound claims are, and nowhere while a claim is not ready.

Semantics of kube-scheduler's VolumeBinding, as far as it depends only on the node. For in-tree
volumes that a CSI driver has taken over, the original fields are read.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, terms
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass

obstacle: Final = Obstacle(
    "VOLUMES",
    "is ruled out by the pod's volumes",
    "are ruled out by the pod's volumes",
    is_quoted=True,
)


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that reach every bound volume."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    if pod_class.storage is None:
        return allowed
    if pod_class.storage.problem:
        return ~allowed
    for affinity in pod_class.storage.affinities:
        allowed &= terms(affinity, nodes)
    return allowed


def reasons(pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes: a problem of a claim, or the node affinity of its volume."""
    problem = pod_class.storage.problem if pod_class.storage is not None else ""
    words = problem or "node(s) didn't match PersistentVolume's node affinity"
    return Counter({words: int(rejected.sum())})
