"""Which resources of nodes are shown, and how much of them is used."""

from collections.abc import Sequence
from typing import Final

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.resources import CPU, MEMORY

MOST: Final = 3


def is_extended(resource: str) -> bool:
    """Return whether device plugins offer a resource."""
    return "/" in resource


def scarce(nodes: NodeTable) -> list[str]:
    """Return what is scarce: what devices offer, else CPU and memory."""
    offered = [
        name
        for name in nodes.resources
        if is_extended(name) and bool(nodes.allocatable[:, nodes.axis[name]].any())
    ]
    return offered[:MOST] or [name for name in (CPU, MEMORY) if name in nodes.axis]


def columns(nodes: NodeTable, resources: Sequence[str]) -> list[int]:
    """Return the columns of resources in the arrays of nodes."""
    return [nodes.axis[name] for name in resources]
