"""A node with zone or region labels must match the zones and regions of the pod's volumes.

Semantics of kube-scheduler's VolumeZone: a node without such labels passes. A deprecated label of a
volume also matches the current label of a node.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.filters import bound_volumes

obstacle: Final = bound_volumes.obstacle

SUCCESSORS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Deprecated labels and their current names."""
LABELS: Final = (*SUCCESSORS, *SUCCESSORS.values())


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes in the zones and regions of all volumes."""
    allowed, zoned = np.ones(len(nodes), dtype=np.bool_), np.zeros(len(nodes), dtype=np.bool_)
    if pod_class.storage is None or not pod_class.storage.zones:
        return allowed
    for key, values in pod_class.storage.zones:
        allowed &= _within(key, values, nodes)
    for key in LABELS:
        zoned |= label_domains.has_domain(nodes.label(key))
    return allowed | ~zoned


def reasons(_pod_class: PodClass, _nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    return Counter({"node(s) had no available volume zone": int(rejected.sum())})


def _within(key: str, values: tuple[str, ...], nodes: NodeTable) -> BoolArray:
    column = nodes.label(key)
    successor = nodes.label(SUCCESSORS.get(key, key))
    matches = column.matches(values)
    matches |= ~label_domains.has_domain(column) & successor.matches(values)
    return matches
