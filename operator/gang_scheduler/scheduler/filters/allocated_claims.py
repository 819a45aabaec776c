"""A pod must run where the devices of its allocated claims can be used.

Semantics of kube-scheduler's DynamicResources, as far as it depends only on the node.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, terms
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass

obstacle: Final = Obstacle(
    "CLAIMS",
    "is out of reach of the devices that the pod's claims have",
    "are out of reach of the devices that the pod's claims have",
)


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that every allocated claim selects; none while a claim has a problem."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    if pod_class.devices is None:
        return allowed
    if pod_class.devices.problem is not None:
        return ~allowed
    for selected in pod_class.devices.nodes:
        allowed &= terms(selected, nodes)
    return allowed


def reasons(_pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    words = "node(s) cannot use the devices of the pod's allocated claims"
    return Counter({words: int(rejected.sum())})
