"""The layers of a network in the order of the tree, or the fault in them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

NODE_LAYER: Final = "NodeTopologyLayer"
"""The lowest layer: every node is a domain of its own."""
CLUSTER_LAYER: Final = "ClusterTopologyLayer"
"""The root above all layers that a user names. Its one domain has no name."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as a user writes it. `parent` is "" right below the cluster."""

    name: str
    parent: str = ""
    label_keys: tuple[str, ...] = ()


Layers: TypeAlias = tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class TreeSpec:
    """How a tree is made from the labels of nodes. `name` is for messages.

    `layers` are from the top to the nodes (`in_order`). With `lone_nodes`, a node that lacks only
    the label of the lowest layer above the nodes is a domain of its own there; otherwise the node
    is outside of the tree. Nodes without the label `node_label`, if one is given, are outside, too.
    """

    name: str
    layers: Layers
    lone_nodes: bool = True
    node_label: str = ""


Named: TypeAlias = Mapping[str, Layer]


@dataclass(eq=False)
class InvalidLayers(ValueError):  # noqa: N818 - named after the problem, like the reasons users see
    """Layers that form no tree: a layer's invalid field, its value, and the fault."""

    layer: str
    field: str
    value: str
    problem: str

    def __str__(self) -> str:
        """Return a sentence for a condition."""
        of = f' of layer "{self.layer}"' if self.field != "topologyLayer" else ""
        return f'{self.field} "{self.value}"{of} {self.problem}'


def in_order(layers: Sequence[Layer]) -> Layers:
    """Return the layers from the top to the nodes, whatever their order in the object.

    Raises `InvalidLayers` unless the layers are one line from the cluster down to `NODE_LAYER`.
    """
    named = _named(layers)
    children = _children(named)
    line: list[Layer] = []
    below = children.get("", [])
    while below:
        line += below
        below = children.get(line[-1].name, [])
    # Every layer has one parent, so a layer that is not below the top is in a cycle.
    stray = [layer for layer in named.values() if layer not in line]
    if stray:
        raise _bad_parent(stray[0], "leads round in a cycle, and not to the cluster")
    return tuple(line)


def _named(layers: Sequence[Layer]) -> Named:
    """Return the layers by name. Raises `InvalidLayers` if a single layer is invalid."""
    named: dict[str, Layer] = {}
    for layer in layers:
        if layer.name in named:
            raise InvalidLayers(layer.name, "topologyLayer", layer.name, "is listed twice")
        if layer.name == CLUSTER_LAYER:
            problem = "is the whole cluster, which is above all layers and not listed"
            raise InvalidLayers(layer.name, "topologyLayer", layer.name, problem)
        if not layer.label_keys and layer.name != NODE_LAYER:
            raise InvalidLayers(layer.name, "labelKey", "", "must name a label of the nodes")
        named[layer.name] = layer
    if NODE_LAYER not in named:
        problem = "is missing: it must be listed as the lowest layer"
        raise InvalidLayers(NODE_LAYER, "topologyLayer", NODE_LAYER, problem)
    return named


def _children(named: Named) -> Mapping[str, list[Layer]]:
    """Return the one layer below each layer; "" is the cluster."""
    children: dict[str, list[Layer]] = defaultdict(list)
    for layer in named.values():
        parent = "" if layer.parent == CLUSTER_LAYER else layer.parent
        if parent and parent not in named:
            raise _bad_parent(layer, "is no layer of the spec")
        if parent == NODE_LAYER:
            raise _bad_parent(layer, "is the lowest layer: nothing can be below it")
        for other in children[parent]:
            problem = f'is the parent of "{other.name}", too: the layers must not branch'
            if not parent:
                problem = f'makes it a second top layer beside "{other.name}"'
            raise _bad_parent(layer, problem)
        children[parent].append(layer)
    return children


def _bad_parent(layer: Layer, problem: str) -> InvalidLayers:
    return InvalidLayers(layer.name, "parentTopologyLayer", layer.parent, problem)
