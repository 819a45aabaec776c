"""What the status of a ClusterNetworkTopology should say now. Pure: a tree in, dicts out."""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gang_scheduler.cluster.conditions import Finding
from gang_scheduler.model.layers import NODE_LAYER, Layers
from gang_scheduler.model.topology import Level, Topology

READY = "Ready"
IN_USE = "InUse"
EXCLUDED_NODES = "ExcludedNodes"
INVALID_SPEC = "InvalidSpec"
NOT_DEFAULT = "NotDefault"
NAMES_SHOWN = 10

Detail = dict[str, Any]


def detail_status(tree: Topology) -> list[Detail]:
    """Return every domain above the nodes, depth first, with what is above and below it."""
    levels = tree.levels
    # Before its children begins every domain where its first child does: so this is depth first.
    domains = [
        (start, depth, place)
        for depth, level in enumerate(levels[:-1])
        for place, start in enumerate(level.starts.tolist())
    ]
    ends = [_ends_of_children(above, below) for above, below in itertools.pairwise(levels)]
    return [_detail(levels, ends, depth, place) for _, depth, place in sorted(domains)]


def _ends_of_children(above: Level, below: Level) -> list[int]:
    """Return for each domain where the slice of its children ends in the level below."""
    ends: list[int] = np.searchsorted(below.parents, np.arange(len(above)), side="right").tolist()
    return ends


def _detail(levels: tuple[Level, ...], ends: list[list[int]], depth: int, place: int) -> Detail:
    level, below = levels[depth], levels[depth + 1]
    detail: Detail = {"topologyInfo": _named(level, place)}
    if depth > 0:
        detail["parentTopologyInfo"] = _named(levels[depth - 1], int(level.parents[place]))
    detail["childTopologyLayer"] = below.layer
    if below.layer != NODE_LAYER:
        first = ends[depth][place - 1] if place else 0
        detail["childTopologyNames"] = list(below.names[first : ends[depth][place]])
    return {**detail, "nodeNum": int(level.sizes[place])}


def _named(level: Level, place: int) -> Mapping[str, str]:
    return {"topologyLayer": level.layer, "topologyName": level.names[place]}


def tree_in_use(tree: Topology) -> Finding:
    """Return the condition of a tree that is as its spec says."""
    outside = tree.outside_names
    if not outside:
        return Finding(
            READY, status=True, reason=IN_USE, message=f"{len(tree.rows)} nodes are in the tree"
        )
    shown = ", ".join(outside[:NAMES_SHOWN])
    more = f" and {len(outside) - NAMES_SHOWN} more" if len(outside) > NAMES_SHOWN else ""
    words = (
        f"{len(outside)} of {len(tree.nodes)} nodes are outside the tree, "
        f"without a label of {' or '.join(_needed(tree.layers))}: {shown}{more}"
    )
    return Finding(READY, status=True, reason=EXCLUDED_NODES, message=words)


def invalid_spec(cause: str, kept: Topology | None) -> Finding:
    """Return the condition of a spec that makes no tree; `kept` is the one of an earlier spec."""
    now = "no tree is in use" if kept is None else "the tree of the last valid spec stays in use"
    return Finding(READY, status=False, reason=INVALID_SPEC, message=f"{cause}; {now}")


def not_default(name: str) -> Finding:
    """Return the condition of an object that nobody uses."""
    words = f'only the ClusterNetworkTopology named "{name}" is used'
    return Finding(READY, status=False, reason=NOT_DEFAULT, message=words)


def _needed(layers: Layers) -> Iterator[str]:
    """Yield the layers whose label a node must have to be in the tree."""
    return (layer.name for layer in layers[:-2])
