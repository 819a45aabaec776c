"""Nodes: their displayed resources, and the nodes that take no new pods or only some."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing.gangs import Json
from gang_scheduler.model.nodes import Node, NodeTable, Taint
from gang_scheduler.model.resources import CPU, MEMORY

# The resources of nodes that are shown.

MOST: Final = 3


def is_extended(resource: str) -> bool:
    """Return whether device plugins offer a resource."""
    return "/" in resource


def scarce(nodes: NodeTable) -> list[str]:
    """Return the scarce resources: of devices, else CPU and memory."""
    offered = [
        name
        for name in nodes.resources
        if is_extended(name) and bool(nodes.allocatable[:, nodes.axis[name]].any())
    ]
    return offered[:MOST] or [name for name in (CPU, MEMORY) if name in nodes.axis]


def columns(nodes: NodeTable, resources: Sequence[str]) -> list[int]:
    """Return the columns of resources in the arrays of nodes."""
    return [nodes.axis[name] for name in resources]


class Gpus(NamedTuple):
    """The GPUs of a cluster. `free` counts only nodes that are ready and not cordoned."""

    all: int
    used: int
    free: int


def gpus(cluster: Cluster) -> Gpus:
    """Return how many GPUs there are, and how many of them are used and free."""
    usage = cluster.cache.node_usage
    nodes, free = usage.table(), usage.free()
    found = columns(
        nodes, [each for each in cluster.policy.rules.queues.gpu_resources if each in nodes.axis]
    )
    usable = nodes.ready & ~nodes.unschedulable
    offered = nodes.allocatable[:, found]
    return Gpus(
        all=int(offered.sum()),
        used=int((offered - free[:, found]).sum()),
        free=int(free[usable][:, found].sum()),
    )


# Nodes that are not ready, cordoned or tainted.

NAMES_SHOWN: Final = 10
TOLD_OTHERWISE: Final = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
    }
)
"""Taints of nodes that are not ready, or cordoned."""
SOFT: Final = "PreferNoSchedule"


def taints_of(node: Node) -> tuple[Taint, ...]:
    """Return the taints that keep pods away; cordons and unready nodes are left out."""
    return tuple(
        each for each in node.taints if each.effect != SOFT and each.key not in TOLD_OTHERWISE
    )


def shown(taint: Taint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def node_lines(nodes: NodeTable) -> Iterator[str]:
    """Yield a line for each reason that keeps pods from nodes, with the names of the nodes."""
    yield from _line("not ready", _names(node for node in nodes.nodes if not node.ready))
    yield from _line("cordoned", _names(node for node in nodes.nodes if node.unschedulable))
    for taint, names in _by_taint(nodes).items():
        yield from _line(f"taint {shown(taint)}", names)


def listed_nodes(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    left = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {left} more" if left > 0 else "")


def node_document(nodes: NodeTable) -> Json:
    """Return the reasons that keep pods from nodes, for documents."""
    return {
        "notReady": _names(node for node in nodes.nodes if not node.ready),
        "cordoned": _names(node for node in nodes.nodes if node.unschedulable),
        "taints": [
            {**taint_document(taint), "nodes": names} for taint, names in _by_taint(nodes).items()
        ],
    }


def taint_document(taint: Taint) -> Json:
    """Return a taint in the form of an object."""
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def _line(what: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{what}: {listed_nodes(names)}"


def _names(nodes: Iterable[Node]) -> list[str]:
    return [node.name for node in nodes]


def _by_taint(nodes: NodeTable) -> dict[Taint, list[str]]:
    """Return the names of nodes by taint, most nodes first."""
    found: dict[Taint, list[str]] = {}
    for node in nodes.nodes:
        for each in taints_of(node):
            found.setdefault(each, []).append(node.name)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), shown(item[0])))
    return dict(ranked)
