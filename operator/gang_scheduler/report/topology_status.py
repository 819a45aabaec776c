"""What the status of a ClusterNetworkTopology should say now. Pure: a tree in, dicts out."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

from gang_scheduler.api.conditions import Finding
from gang_scheduler.model.network.layers import NODE_LAYER, Layers
from gang_scheduler.model.network.topology import Level, Topology
from gang_scheduler.model.nodes import BoolArray, IntArray

READY = "Ready"
IN_USE = "InUse"
EXCLUDED_NODES = "ExcludedNodes"
INVALID_SPEC = "InvalidSpec"
NOT_DEFAULT = "NotDefault"
NAMES_SHOWN = 10
MOST_BYTES = 900_000
"""etcd takes no object of more than 1.5 MiB, and the object has more than its detailStatus."""

Detail = dict[str, Any]
Levels = tuple[Level, ...]


def detail_status(tree: Topology) -> list[Detail]:
    """Return the domains above the nodes, depth first, each with its parent and children.

    Domains are left out if all of them would be too long to be stored.
    """
    levels = tree.levels
    listed = _listed(levels)
    # A domain starts where its first child does, and sorts before it by depth: depth first.
    domains = [
        (start, depth, place)
        for depth, level in enumerate(levels[:-1])
        for place, start in enumerate(level.starts.tolist())
        if listed[depth][place]
    ]
    ends = [_ends_of_children(above, below) for above, below in itertools.pairwise(levels)]
    return [_detail(levels, ends, listed, depth, place) for _, depth, place in sorted(domains)]


def _ends_of_children(above: Level, below: Level) -> list[int]:
    """Return for each domain where the slice of its children ends in the level below."""
    ends: list[int] = np.searchsorted(below.parents, np.arange(len(above)), side="right").tolist()
    return ends


def _detail(
    levels: Levels, ends: list[list[int]], listed: list[list[bool]], depth: int, place: int
) -> Detail:
    level, below = levels[depth], levels[depth + 1]
    detail: Detail = {"topologyInfo": _named(level, place)}
    if depth > 0:
        detail["parentTopologyInfo"] = _named(levels[depth - 1], int(level.parents[place]))
    detail["childTopologyLayer"] = below.layer
    if below.layer != NODE_LAYER:
        children = slice(ends[depth][place - 1] if place else 0, ends[depth][place])
        names = itertools.compress(below.names[children], listed[depth + 1][children])
        detail["childTopologyNames"] = list(names)
    return {**detail, "nodeNum": int(level.sizes[place])}


def _named(level: Level, place: int) -> Mapping[str, str]:
    return {"topologyLayer": level.layer, "topologyName": level.names[place]}


def _listed(levels: Levels) -> list[list[bool]]:
    """Return for each level above the nodes which domains are listed: from the top, what fits.

    Below a level that does not fit, no domain is listed; in that level lone nodes come last.
    """
    listed = []
    left = MOST_BYTES
    for depth, level in enumerate(levels[:-1]):
        lengths = _lengths(levels, depth)
        order = np.argsort(_are_lone(level, levels[-1]), kind="stable")
        fits = np.zeros(len(level), dtype=np.bool_)
        fits[order] = np.cumsum(lengths[order]) <= left
        left = left - int(lengths.sum()) if fits.all() else 0
        listed.append(fits.tolist())
    return listed


def _lengths(levels: Levels, depth: int) -> IntArray:
    """Return how many bytes each domain takes, with its name among the children of its parent."""
    level, above = levels[depth], levels[max(depth - 1, 0)]
    names = np.array([len(name) for name in level.names], dtype=np.int64)
    names_above = np.array([len(name) for name in above.names], dtype=np.int64)
    blank = {"topologyLayer": level.layer, "topologyName": ""}
    longest = {
        "topologyInfo": blank,
        "parentTopologyInfo": {**blank, "topologyLayer": above.layer},
        "childTopologyLayer": levels[depth + 1].layer,
        "childTopologyNames": [""],
        "nodeNum": len(levels[-1]),
    }
    return len(msgspec.json.encode(longest)) + 2 * names + names_above[np.maximum(level.parents, 0)]


def _are_lone(level: Level, nodes: Level) -> BoolArray:
    """Return the mask of domains that are one node of the same name: the least informative ones."""
    lone: BoolArray = level.sizes == 1
    for place in np.flatnonzero(lone).tolist():
        lone[place] = level.names[place] == nodes.names[level.starts[place]]
    return lone


def tree_in_use(tree: Topology, listed: int) -> Finding:
    """Return the condition of a tree in use, of which `listed` domains are in detailStatus."""
    reason = EXCLUDED_NODES if len(tree.outside) else IN_USE
    message = _excluded(tree) if len(tree.outside) else f"{len(tree.rows)} nodes are in the tree"
    domains = sum(len(level) for level in tree.levels[:-1])
    if listed < domains:
        message += f"; {domains - listed} of {domains} domains are left out of detailStatus, "
        message += "which would be too long to be stored"
    return Finding(READY, status=True, reason=reason, message=message)


def _excluded(tree: Topology) -> str:
    """Return the message about nodes outside the tree, with the first names."""
    outside = tree.outside_names
    shown = ", ".join(outside[:NAMES_SHOWN])
    more = f" and {len(outside) - NAMES_SHOWN} more" if len(outside) > NAMES_SHOWN else ""
    return (
        f"{len(outside)} of {len(tree.nodes)} nodes are outside the tree, "
        f"without a label of {' or '.join(_needed(tree.layers))}: {shown}{more}"
    )


def invalid_spec(cause: str, *, kept: bool) -> Finding:
    """Return the condition of a spec that makes no tree; `kept`: the earlier tree stays in use."""
    now = "the tree of the last valid spec stays in use" if kept else "no tree is made of it"
    return Finding(READY, status=False, reason=INVALID_SPEC, message=f"{cause}; {now}")


def not_default(name: str) -> Finding:
    """Return the condition of an object that is not used, because of its name."""
    words = f'only the ClusterNetworkTopology named "{name}" is used'
    return Finding(READY, status=False, reason=NOT_DEFAULT, message=words)


def _needed(layers: Layers) -> Iterator[str]:
    """Yield the layers whose label a node must have to be in the tree."""
    return (layer.name for layer in layers[:-2])
