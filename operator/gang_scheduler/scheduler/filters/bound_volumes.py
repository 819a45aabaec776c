"""A pod goes where the volumes of its bound claims are, and nowhere while a claim is not ready.

Semantics of kube-scheduler's VolumeBinding, as far as it depends on the node alone. Volumes of the
in-tree kinds that a CSI driver has taken over are read as they are written.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import terms

obstacle: Final = Obstacle(
    "VOLUMES",
    "is ruled out by the pod's volumes",
    "are ruled out by the pod's volumes",
    is_quoted=True,
)


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that reach every volume that is bound already."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    if pod_class.storage is None:
        return allowed
    if pod_class.storage.problem:
        return ~allowed
    for affinity in pod_class.storage.affinities:
        allowed &= terms(affinity, nodes)
    return allowed


def reasons(pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """One reason for all nodes: a problem of a claim, or the node affinity of its volume."""
    problem = pod_class.storage.problem if pod_class.storage is not None else ""
    words = problem or "node(s) didn't match PersistentVolume's node affinity"
    return Counter({words: int(rejected.sum())})
