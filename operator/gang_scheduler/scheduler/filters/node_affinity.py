"""nodeSelector and required node affinity.

Semantics of kube-scheduler's NodeAffinity.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, any_term
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass

obstacle: Final = Obstacle(
    "NODE_AFFINITY",
    "does not match the pod's node selector or affinity",
    "do not match the pod's node selector or affinity",
)


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes with the wanted labels and names."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    for key, value in pod_class.node_selector:
        allowed &= nodes.label(key).matches([value])
    if pod_class.affinity is not None:
        allowed &= any_term(pod_class.affinity, nodes)
    return allowed


def reasons(_pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    return Counter({"node(s) didn't match Pod's node affinity/selector": int(rejected.sum())})
