"""Small networks for tests: spines, blocks and nodes, and what gangs request of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.topology_request import LayerRef, Slices, TopologyRequest
from support import builders

SPINE, BLOCK = "SpineLayer", "BlockLayer"
SPINE_KEY, BLOCK_KEY = "network/spine", "network/block"

TREE_SPEC = TreeSpec(
    "ClusterNetworkTopology default",
    (
        Layer(SPINE, label_keys=(SPINE_KEY,)),
        Layer(BLOCK, SPINE, (BLOCK_KEY,)),
        Layer(NODE_LAYER, BLOCK),
    ),
)

TWELVE: Mapping[str, Sequence[int]] = {
    "spine-0/block-0": (0, 1, 2),
    "spine-0/block-1": (3, 4),
    "spine-1/block-2": (5, 6),
    "spine-1/block-3": (7, 8),
    "spine-2/block-4": (9, 10, 11),
}
"""Twelve nodes in three spines, by block."""

EIGHT: Mapping[str, Sequence[int]] = {
    "s1/b1": (8, 1),
    "s1/b2": (7, 2),
    "s2/b3": (6, 3),
    "s2/b4": (5, 4),
}
"""Eight nodes in two spines; their names are not in the order of the tree."""


def nodes(blocks: Mapping[str, Iterable[int]], **amounts: Any) -> list[Node]:
    """Return `node-<number>` for the numbers of each `spine/block`."""
    return [
        builders.node(f"node-{number}", labels=labels_of(block), **amounts)
        for block, numbers in blocks.items()
        for number in numbers
    ]


def labels_of(block: str) -> dict[str, str]:
    """Return the labels of a node in `spine/block`; an empty name is no label."""
    spine, _, name = block.partition("/")
    return {key: each for key, each in ((SPINE_KEY, spine), (BLOCK_KEY, name)) if each}


def must(*layers: str, slices: Sequence[Slices] = ()) -> TopologyRequest:
    """Return a request to gather in one domain of each of these layers."""
    return TopologyRequest(must=_refs(layers), slices=tuple(slices))


def prefer(*layers: str, slices: Sequence[Slices] = ()) -> TopologyRequest:
    """Return a request that prefers one domain of each of these layers."""
    return TopologyRequest(prefer=_refs(layers), slices=tuple(slices))


def runs(layer: str, size: int) -> Slices:
    """Return runs of so many ranks, of which the last may be short."""
    return Slices(LayerRef(layer), size)


def multiples(layer: str, size: int) -> Slices:
    """Return runs of so many members, all of them whole."""
    return Slices(LayerRef(layer), size, whole=True)


def _refs(layers: Iterable[str]) -> tuple[LayerRef, ...]:
    return tuple(LayerRef(name) for name in layers)
