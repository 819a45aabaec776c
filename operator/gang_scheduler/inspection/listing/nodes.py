"""Nodes: their displayed resources, and the nodes that take no new pods or only some."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import devices
from gang_scheduler.inspection.listing.gangs import Json
from gang_scheduler.model.nodes import Node, NodeTable, Taint
from gang_scheduler.model.resources import CPU, MEMORY
from gang_scheduler.scheduler.devices.shown_amounts import Offered

# The resources of nodes that are shown.

MOST: Final = 3


def is_of_device_plugin(resource: str) -> bool:
    """Return whether a resource is one of device plugins, as its slash shows."""
    return "/" in resource


def scarce(offered: Offered) -> list[str]:
    """Return the scarce resources: extended resources of nodes, or CPU and memory without any."""
    found = [
        name
        for name in sorted(offered.axis)
        if is_of_device_plugin(name) and bool(offered.allocatable[:, offered.axis[name]].any())
    ]
    return found[:MOST] or [name for name in (CPU, MEMORY) if name in offered.axis]


class Gpus(NamedTuple):
    """The GPUs of a cluster. `free` counts only nodes that are ready and not cordoned."""

    all: int
    used: int
    free: int


def gpus(cluster: Cluster) -> Gpus:
    """Return how many GPUs there are, and how many of them are used and free."""
    nodes, found = cluster.cache.node_usage.table(), devices.offered(cluster)
    there, used = found.summed(cluster.policy.rules.queues.gpu_resources)
    usable = nodes.ready & ~nodes.unschedulable
    return Gpus(all=int(there.sum()), used=int(used.sum()), free=int((there - used)[usable].sum()))


# Nodes that are not ready, cordoned or tainted.

NAMES_SHOWN: Final = 10
SHOWN_AS_STATES: Final = frozenset(
    {
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/unschedulable",
    }
)
"""Taints that only repeat that a node is not ready, or cordoned."""
SOFT: Final = "PreferNoSchedule"


def taints_of(node: Node) -> tuple[Taint, ...]:
    """Return the taints that keep pods away, without the taints of cordoned and unready nodes."""
    return tuple(
        each for each in node.taints if each.effect != SOFT and each.key not in SHOWN_AS_STATES
    )


def shown(taint: Taint) -> str:
    """Return a taint as kubectl writes it."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def node_lines(nodes: NodeTable) -> Iterator[str]:
    """Yield a line for each reason that keeps pods away, with the names of the nodes."""
    yield from _line("not ready", _names(node for node in nodes.nodes if not node.ready))
    yield from _line("cordoned", _names(node for node in nodes.nodes if node.unschedulable))
    for taint, names in _by_taint(nodes).items():
        yield from _line(f"taint {shown(taint)}", names)


def listed_nodes(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    left = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {left} more" if left > 0 else "")


def node_document(nodes: NodeTable) -> Json:
    """Return the nodes that pods are kept from, by state and taint, as a part of a document."""
    return {
        "notReady": _names(node for node in nodes.nodes if not node.ready),
        "cordoned": _names(node for node in nodes.nodes if node.unschedulable),
        "taints": [
            {**taint_document(taint), "nodes": names} for taint, names in _by_taint(nodes).items()
        ],
    }


def taint_document(taint: Taint) -> Json:
    """Return a taint with the fields that it has in a manifest."""
    return {"key": taint.key, "value": taint.value, "effect": taint.effect}


def _line(what: str, names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{what}: {listed_nodes(names)}"


def _names(nodes: Iterable[Node]) -> list[str]:
    return [node.name for node in nodes]


def _by_taint(nodes: NodeTable) -> dict[Taint, list[str]]:
    """Return the names of nodes by taint, the taint of most nodes first."""
    found: dict[Taint, list[str]] = {}
    for node in nodes.nodes:
        for each in taints_of(node):
            found.setdefault(each, []).append(node.name)
    ranked = sorted(found.items(), key=lambda item: (-len(item[1]), shown(item[0])))
    return dict(ranked)
