"""Rejects nodes whose kubelet has recently refused a pod with the same requests."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import Requests

obstacle: Final = Obstacle("REFUSED", "has refused such a pod", "have refused such pods")

Reasons = Mapping[int, str]
"""The kubelets' reasons, by the rows of their nodes."""


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes whose kubelets have refused no pod with the same requests."""
    allowed = np.ones(len(nodes), dtype=np.bool_)
    allowed[[*_refusing(nodes).get(pod_class.requests, ())]] = False
    return allowed


def reasons(pod_class: PodClass, nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Return the reasons of the kubelets."""
    found = _refusing(nodes).get(pod_class.requests, {})
    return Counter(
        f"node(s) whose kubelet refused such a pod ({why})"
        for row, why in found.items()
        if rejected[row]
    )


def _refusing(nodes: NodeTable) -> Mapping[Requests, Reasons]:
    return nodes.cached("refused shapes", lambda: _refusing_of(nodes))


def _refusing_of(nodes: NodeTable) -> Mapping[Requests, Reasons]:
    found: defaultdict[Requests, dict[int, str]] = defaultdict(dict)
    for row, node in enumerate(nodes.nodes):
        for shape, why in node.refused:
            found[shape][row] = why
    return found
