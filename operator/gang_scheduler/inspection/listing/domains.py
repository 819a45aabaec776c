"""Network domains: their nodes, their use, and how large a gang would start in each."""

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import click
import numpy as np

from gang_scheduler.inspection import cluster as inspection_cluster
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.listing import devices, table_layout
from gang_scheduler.inspection.listing import nodes as listing_nodes
from gang_scheduler.inspection.listing.gangs import API_VERSION, Json
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.model import topology
from gang_scheduler.model.layers import NODE_LAYER
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS, amount_of, quantity, quantity_of
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology import Domain, Topology
from gang_scheduler.model.topology_scope import NODES_ALONE
from gang_scheduler.scheduler.cycle_decisions import Decided
from gang_scheduler.scheduler.devices.shown_amounts import Offered
from gang_scheduler.scheduler.place_or_preempt import Placing
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile

# The shape of a pod, and how large a gang of pods of this shape would start now.


@dataclass(frozen=True, slots=True)
class Shape:
    """What a member requests of a node. Only `amounts` are shown."""

    pod_class: PodClass
    amounts: Mapping[str, str]

    def __str__(self) -> str:
        return ",".join(f"{name}={amount}" for name, amount in self.amounts.items())


def parsed_shape(text: str) -> Shape:
    """Return the shape given by a text such as `nvidia.com/gpu=8,cpu=4`. Raises ValueError."""
    asked: dict[str, int] = {}
    for part in text.split(","):
        name, found, amount = part.strip().partition("=")
        if not (found and name):
            raise ValueError(f"{part!r} is no RESOURCE=AMOUNT")
        asked[name] = amount_of(name, amount)
    shown = {name: quantity_of(name, amount) for name, amount in asked.items()}
    return Shape(PodClass(requests=tuple(sorted({**asked, PODS: 1}.items()))), shown)


def commonest(cluster: Cluster) -> Shape | None:
    """Return the shape that most waiting pods have; None if no pod waits."""
    infos = cluster.cache.gang_queue.infos.values()
    ours = cluster.cache.schedulers
    waiting = [pod for info in infos for pod in info.observed.living if not pod.node]
    classes = Counter([pod.pod_class for pod in waiting if pod.scheduler in ours])
    counts = Counter[PodClass]()
    for pod_class, number in classes.items():
        counts[_alone(pod_class)] += number
    if not counts:
        return None
    asked = max(counts, key=lambda each: (counts[each], each.requests))
    return Shape(asked, _shown(asked.requests))


def _alone(asked: PodClass) -> PodClass:
    """Return a pod class without its rules on other pods, and without volumes."""
    return replace(asked, pod_affinity=None, selected_by=frozenset(), storage=None)


def _shown(requests: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Return the requests to show: the requests for devices, or all if there are none."""
    asked = {name: amount for name, amount in requests if amount and name != PODS}
    devices = {
        name: amount for name, amount in asked.items() if listing_nodes.is_of_device_plugin(name)
    }
    return {name: quantity_of(name, amount) for name, amount in (devices or asked).items()}


class Room:
    """The room for gangs that start now: running pods stay, and reserved room stays reserved."""

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        # When a cycle begins, reserved room counts as taken.
        self._trial = Placing(replace(snapshot, groups=()), profile, Decided()).trial
        self._profile = profile

    def members(self, shape: Shape) -> IntArray:
        """Return an array: how many members each node takes, in the order of the nodes."""
        slots = offer_slots(shape.pod_class, self._trial, self._profile)
        return slots.clip(max=MOST)


MOST: Final = 1_000_000
"""The number of members without requests that a node takes: as good as any number."""

_READY_COLUMN: Final = 1
TAINTED: Final = "TAINTED"
"""The heading of a column that is left out if its count is 0 everywhere."""


@dataclass(frozen=True, slots=True)
class DomainLine:
    """A domain: how many of its nodes are ready, cordoned, tainted, and wholly free.

    `used` has (used, all) for each resource. `members` says for each shape how many members would
    start in the domain now.
    """

    domain: Domain
    depth: int
    ready: int
    nodes: int
    cordoned: int
    tainted: int
    whole: int
    used: tuple[tuple[int, int], ...]
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TreeView:
    """A tree of the network: its domains, depth first, and the nodes outside."""

    name: str
    resources: tuple[str, ...]
    shapes: tuple[Shape, ...]
    lines: tuple[DomainLine, ...]
    outside: tuple[str, ...]


def trees(
    cluster: Cluster, snapshot: Snapshot, shapes: Sequence[Shape], depth: int | None = None
) -> list[TreeView]:
    """Return the trees down to a depth: 0 is only the cluster, None all layers above the nodes."""
    room = Room(snapshot, cluster.profile)
    slots = [room.members(shape) for shape in shapes]
    offered = devices.offered(cluster)
    resources = listing_nodes.scarce(offered)
    measures = _measures(snapshot.nodes, offered, resources, slots)
    return [
        _view(topology.build(spec, snapshot.nodes), resources, shapes, measures, depth)
        for spec in snapshot.tree_specs or (NODES_ALONE,)
    ]


def _view(
    tree: Topology,
    resources: Sequence[str],
    shapes: Sequence[Shape],
    of_nodes: IntArray,
    depth: int | None,
) -> TreeView:
    measures = of_nodes[tree.rows]
    deepest = len(tree.levels) - 2 if depth is None else min(depth, len(tree.levels) - 1)
    found = [
        (int(level.starts[place]), number, place)
        for number, level in enumerate(tree.levels[: max(0, deepest) + 1])
        for place in range(len(level) if len(tree.rows) else 0)
    ]
    sums = [
        np.add.reduceat(measures, level.starts) if len(tree.rows) else measures
        for level in tree.levels
    ]
    lines = (
        _line(tree, number, place, sums[number][place].tolist(), len(resources))
        for _, number, place in sorted(found)
    )
    return TreeView(
        tree.tree_spec.name,
        tuple(resources),
        tuple(shapes),
        tuple(lines),
        tuple(tree.outside_names),
    )


def _measures(
    nodes: NodeTable, found: Offered, resources: Sequence[str], slots: Sequence[IntArray]
) -> IntArray:
    """Return an array with a row for each node, whose columns are added up by domain.

    The columns are: counts of nodes, used and offered amounts, and members of each shape.
    """
    shown = found.columns(resources)
    offered, used = found.allocatable[:, shown], found.used[:, shown]
    usable = nodes.ready & ~nodes.unschedulable
    counts = (
        nodes.ready,
        np.ones(len(nodes), dtype=np.int64),
        nodes.unschedulable,
        nodes.cached("tainted", functools.partial(_tainted, nodes)),
        usable & ~(used > 0).any(axis=1),
    )
    return np.column_stack([*counts, *used.T, *offered.T, *slots]).astype(np.int64)


def _tainted(nodes: NodeTable) -> BoolArray:
    """Return which nodes have taints that keep pods away."""
    return np.array([bool(listing_nodes.taints_of(node)) for node in nodes.nodes], dtype=np.bool_)


def _line(
    tree: Topology, number: int, place: int, sums: Sequence[int], resources: int
) -> DomainLine:
    ready, nodes, cordoned, tainted, whole, *others = sums
    used, offered = others[:resources], others[resources : 2 * resources]
    return DomainLine(
        *(tree.domain(number, place), number, ready, nodes, cordoned, tainted, whole),
        used=tuple(zip(used, offered, strict=True)),
        members=tuple(others[2 * resources :]),
    )


def table(view: TreeView, page: Page) -> Iterator[str]:
    """Yield the lines of the table of a tree."""
    headings = ["DOMAIN", "READY", "CORDONED", TAINTED, "WHOLE", *view.resources]
    headings += [f"LARGEST {shape}" for shape in view.shapes]
    rows = [_cells(line, view.resources) for line in view.lines]
    headings, rows = table_layout.without_silent(headings, rows, (TAINTED,))
    drops = (TAINTED, "CORDONED", *reversed(view.resources[1:]), "WHOLE")
    yield from table_layout.table_lines(headings, rows, page, headings[1:], drops)
    if view.outside:
        outside = listing_nodes.listed_nodes(view.outside)
        yield f"outside of {view.name}, for lack of a label: {outside}"


def painted(column: int, text: str) -> str:
    """Return a cell in colour: nodes that are not ready, and resources that are used up."""
    part, slash, whole = text.partition("/")
    if not slash or column == 0:
        return text
    if column == _READY_COLUMN:
        return text if part == whole else click.style(text, fg="yellow")
    return click.style(text, fg="red") if part == whole and whole != "0" else text


def _cells(line: DomainLine, resources: Sequence[str]) -> list[str]:
    domain = line.domain
    name = domain.path[-1] if domain.path else "cluster"
    shown = name if domain.layer == NODE_LAYER or not domain.path else f"{domain.layer}/{name}"
    used = [
        f"{quantity(name, part)}/{quantity(name, whole)}"
        for name, (part, whole) in zip(resources, line.used, strict=True)
    ]
    tainted = str(line.tainted) if line.tainted else table_layout.NOTHING
    counts = (f"{line.ready}/{line.nodes}", str(line.cordoned), tainted, str(line.whole))
    return ["  " * line.depth + shown, *counts, *used, *map(str, line.members)]


def document(views: Sequence[TreeView], cluster: Cluster) -> Json:
    """Return the trees as a document of kind ClusterView."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterView",
        **inspection_cluster.origin_document(cluster),
        "trees": [_tree(view) for view in views],
        "nodes": listing_nodes.node_document(cluster.cache.node_usage.table()),
        "devices": devices.document(devices.of_cluster(cluster)),
    }


def _tree(view: TreeView) -> Json:
    return {
        "name": view.name,
        "domains": [_domain(line, view) for line in view.lines],
        "outside": list(view.outside),
    }


def _domain(line: DomainLine, view: TreeView) -> dict[str, Any]:
    return {
        "layer": line.domain.layer,
        "path": list(line.domain.path),
        "depth": line.depth,
        "nodes": {
            "ready": line.ready,
            "all": line.nodes,
            "cordoned": line.cordoned,
            "tainted": line.tainted,
            "whole": line.whole,
        },
        "resources": [
            used(name, *each) for name, each in zip(view.resources, line.used, strict=True)
        ],
        "largestGangs": [
            {"shape": dict(shape.amounts), "members": number}
            for shape, number in zip(view.shapes, line.members, strict=True)
        ],
    }


def used(resource: str, part: int, whole: int) -> Json:
    """Return the use of a resource as a part of a document."""
    return {
        "resource": resource,
        "used": quantity_of(resource, part),
        "all": quantity_of(resource, whole),
    }
