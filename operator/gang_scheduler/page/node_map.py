"""The map: all nodes in the order of a tree of the network, with their amounts and users.

It has columns, one value for each node, because a cluster has thousands.
"""

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import devices
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json, Row
from gang_scheduler.model import topology
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import CPU
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.topology_scope import NODES_ALONE

OTHERS: Final = -1
"""Stands for pods that belong to no gang on the map."""
OUTSIDE: Final = "-"
"""Stands for the nodes outside of a tree in addresses."""
HIDDEN: Final = "?"
"""Stands for a domain whose name may not be said."""
GPUS: Final = "GPUs"
CPUS: Final = "CPUs"
MILLI: Final = 1000


class State(enum.StrEnum):
    """Whether a node takes new pods."""

    READY = "ready"
    CORDONED = "cordoned"
    NOT_READY = "notReady"


WORDS: Final[Mapping[State, str]] = {
    State.READY: "ready",
    State.CORDONED: "cordoned",
    State.NOT_READY: "not ready",
}
FREE, FULL = "free", "full"
SELECTED_BY: Final[Mapping[str, str]] = {FREE: "with free room", FULL: "without free room"} | {
    each.value: WORDS[each] for each in (State.CORDONED, State.NOT_READY)
}
"""The criteria by which nodes can be selected, with their words."""


class Place(NamedTuple):
    """A lowest domain: the names from the top down, and its nodes; None is outside of the tree."""

    path: tuple[str, ...] | None
    first: int
    number: int


class JobUse(NamedTuple):
    """The amount of a node that the pods of one gang use, or all other pods together.

    `gang` is the index of the gang in the `gangs` of the map; OTHERS for the other pods.
    """

    gang: int
    amount: int


@dataclass(frozen=True, slots=True, eq=False)
class NodeMap:
    """Nodes in the order of a tree: names, amounts that they offer and that is used, and states.

    `topologies` are the names of all trees. Each place has the nodes from its `first` one on.
    Amounts are in the `unit`, CPUs in thousandths. Names are "" for users that may not see them.
    """

    name: str
    topologies: tuple[str, ...]
    layers: tuple[str, ...]
    resources: tuple[str, ...]
    unit: str
    gangs: tuple[GangKey, ...]
    places: tuple[Place, ...]
    names: tuple[str, ...]
    offered: tuple[int, ...]
    used: tuple[int, ...]
    states: tuple[State, ...]
    uses: tuple[tuple[JobUse, ...], ...]

    @property
    def is_named(self) -> bool:
        """Whether nodes have names."""
        return any(self.names)

    def shown(self, amount: int) -> str:
        """Return an amount as text."""
        return str(amount) if self.unit == GPUS else f"{amount / MILLI:g}"


class Wanted(NamedTuple):
    """The nodes to list; "" selects all. `domain` is a path with / between its names."""

    domain: str = ""
    gang: str = ""
    state: str = ""
    text: str = ""


class NodeLine(NamedTuple):
    """A node as a row of a table: `gangs` are (gang, amount), None for pods in no shown gang."""

    name: str
    path: tuple[str, ...] | None
    state: State
    offered: int
    used: int
    gangs: tuple[tuple[GangKey | None, int], ...]


def of_cluster(cluster: Cluster, rows: Sequence[Row], name: str = "") -> NodeMap | None:
    """Return the map by a tree, the first if it has no name; None if there is no such tree.

    Gangs without a row count as other pods. Linear in nodes and in pods that run.
    """
    nodes = cluster.cache.node_usage.table()
    specs = cluster.snapshot().tree_specs or (NODES_ALONE,)
    spec = next((each for each in specs if name in ("", each.name)), None)
    if spec is None:
        return None
    tree = topology.build(spec, nodes)
    order = [*tree.rows.tolist(), *tree.outside.tolist()]
    found = devices.offered(cluster)
    gpus = [each for each in cluster.policy.rules.queues.gpu_resources if each in found.axis]
    offers = bool(gpus) and bool(found.allocatable[:, found.columns(gpus)].any())
    resources = tuple(gpus) if offers else (CPU,)
    offered, used = found.summed(resources)
    gangs, uses = _uses(cluster, rows, nodes, resources, used.tolist())
    return NodeMap(
        spec.name,
        tuple(each.name for each in specs),
        tuple(layer.name for layer in spec.layers[:-1]),
        resources,
        GPUS if offers else CPUS,
        gangs,
        tuple(_places(tree)),
        tuple(nodes.nodes[row].name for row in order),
        tuple(offered[order].tolist()),
        tuple(used[order].tolist()),
        tuple(_state(nodes, row) for row in order),
        tuple(uses[row] for row in order),
    )


def without_names(found: NodeMap, may_say: Callable[[str], bool]) -> NodeMap:
    """Return the map without names of nodes, and without names of domains that may not be said."""
    return replace(
        found,
        names=("",) * len(found.names),
        places=tuple(
            each._replace(path=each.path and tuple(map(_said_if(may_say), each.path)))
            for each in found.places
        ),
    )


def _said_if(may_say: Callable[[str], bool]) -> Callable[[str], str]:
    return lambda name: name if may_say(name) else HIDDEN


def _state(nodes: NodeTable, row: int) -> State:
    if not nodes.ready[row]:
        return State.NOT_READY
    return State.CORDONED if nodes.unschedulable[row] else State.READY


def _places(tree: Topology) -> Iterator[Place]:
    depth = len(tree.levels) - 2
    level = tree.levels[depth]
    if len(tree.rows):
        for number in range(len(level)):
            first, size = int(level.starts[number]), int(level.sizes[number])
            yield Place(tree.domain(depth, number).path, first, size)
    if len(tree.outside):
        yield Place(None, len(tree.rows), len(tree.outside))


def _uses(
    cluster: Cluster,
    rows: Sequence[Row],
    nodes: NodeTable,
    resources: Sequence[str],
    used: Sequence[int],
) -> tuple[tuple[GangKey, ...], list[tuple[JobUse, ...]]]:
    """Return the gangs that run, and the amounts that they use on each node."""
    numbers: dict[GangKey, int] = {}
    shown = {row.key for row in rows}
    amounts: dict[object, int] = {}
    found: list[tuple[JobUse, ...]] = []
    for node, whole in zip(nodes.nodes, used, strict=True):
        here: dict[int, int] = {}
        for uid in cluster.cache.node_usage.uids_on(node.name):
            pod = cluster.cache.pod(uid)
            if pod is None or pod.gang not in shown:
                continue
            requests = pod.pod_class.requests
            if requests not in amounts:
                amounts[requests] = sum(each for name, each in requests if name in resources)
            number = numbers.setdefault(pod.gang, len(numbers))
            here[number] = here.get(number, 0) + amounts[requests]
        left = whole - sum(here.values())
        others = (JobUse(OTHERS, left),) if left > 0 else ()
        found.append((*(JobUse(*each) for each in sorted(here.items())), *others))
    return tuple(numbers), found


# Selections.


def selected(found: NodeMap, wanted: Wanted) -> list[int]:
    """Return the places of the selected nodes in the map."""
    gang = next((number for number, key in enumerate(found.gangs) if wanted.gang == str(key)), None)
    text = wanted.text.lower()
    return [
        node
        for place in found.places
        if _is_below(place.path, wanted.domain)
        for node in range(place.first, place.first + place.number)
        if (not wanted.gang or any(each.gang == gang for each in found.uses[node]))
        and (not wanted.state or _is(found, node, wanted.state))
        and (not text or text in found.names[node].lower())
    ]


def _is_below(path: tuple[str, ...] | None, domain: str) -> bool:
    if not domain or path is None:
        return domain in ("", OUTSIDE if path is None else "")
    names = tuple(domain.split("/"))
    return path[: len(names)] == names


def _is(found: NodeMap, node: int, state: str) -> bool:
    if state in (State.CORDONED, State.NOT_READY):
        return found.states[node] == state
    has_room = found.states[node] is State.READY and found.used[node] < found.offered[node]
    return has_room == (state == FREE)


def domains_below(found: NodeMap, domain: str) -> list[str]:
    """Return the domains one layer below a domain, as paths; nothing for the lowest."""
    depth = len(domain.split("/")) if domain else 0
    paths = [
        OUTSIDE if place.path is None else "/".join(place.path[: depth + 1])
        for place in found.places
        if _is_below(place.path, domain) and (place.path is None or len(place.path) > depth)
    ]
    return [each for each in dict.fromkeys(paths) if each != domain]


def lines(found: NodeMap, chosen: Sequence[int]) -> list[NodeLine]:
    """Return nodes as rows of a table."""
    firsts = np.array([each.first for each in found.places], dtype=np.int64)
    inside = np.searchsorted(firsts, np.array(chosen, dtype=np.int64), side="right") - 1
    return [
        NodeLine(
            found.names[node],
            found.places[place].path,
            found.states[node],
            found.offered[node],
            found.used[node],
            tuple(
                (None if each.gang == OTHERS else found.gangs[each.gang], each.amount)
                for each in found.uses[node]
            ),
        )
        for node, place in zip(chosen, inside.tolist(), strict=True)
    ]


def document(
    found: NodeMap,
    chosen: Sequence[int],
    cluster: Cluster,
    idle: int,
    address: Callable[[GangKey], str],
) -> Json:
    """Return nodes as a document of kind NodeMap; `idle` are free GPUs while a gang waits."""
    numbers = {
        gang: number
        for number, gang in enumerate(
            sorted({use.gang for node in chosen for use in found.uses[node]} - {OTHERS})
        )
    } | {OTHERS: OTHERS}
    kept = set(chosen)
    sizes = [
        (place.path, sum(node in kept for node in range(place.first, place.first + place.number)))
        for place in found.places
    ]
    unit = 1 if found.unit == GPUS else MILLI
    return {
        "apiVersion": API_VERSION,
        "kind": "NodeMap",
        **inspection_cluster.origin_document(cluster),
        "topology": found.name or None,
        "topologies": [each for each in found.topologies if each],
        "layers": list(found.layers),
        "resources": list(found.resources),
        "unit": found.unit,
        "idleWhileWaiting": idle,
        "domains": [
            {"path": None if path is None else list(path), "nodes": number}
            for path, number in sizes
            if number
        ],
        "gangs": [
            {"name": str(key), "address": address(key)}
            for key in (found.gangs[each] for each in numbers if each != OTHERS)
        ],
        "nodes": {
            "names": [found.names[node] for node in chosen] if found.is_named else None,
            "all": [_in_unit(found.offered[node], unit) for node in chosen],
            "used": [_in_unit(found.used[node], unit) for node in chosen],
            "states": [found.states[node].value for node in chosen],
            "gangs": [
                [part for use in found.uses[node] for part in _pair(use, numbers, unit)]
                for node in chosen
            ],
        },
    }


def _pair(use: JobUse, numbers: Mapping[int, int], unit: int) -> tuple[float, float]:
    return numbers[use.gang], _in_unit(use.amount, unit)


def _in_unit(amount: int, unit: int) -> float:
    return amount if unit == 1 else amount / unit
