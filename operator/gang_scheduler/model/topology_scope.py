"""The meaning of a topology request on the existing trees: layers by depth, and slice sizes.

A layer is looked up in the trees in their order. A label key that is in no tree makes its own tree;
a layer that is in no tree is unknown.
"""

import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gang_scheduler.model import similar_names, topology
from gang_scheduler.model.causes.specs import InvalidSlice, LayersApart, SliceFault, UnknownLayers
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.topology_request import LayerRef, Slices, TopologyRequest

CLOSE_ENOUGH = 0.6
NODES_ALONE = TreeSpec("nodes", (Layer(NODE_LAYER),))
Sizes = tuple[int, ...]
"""By depth in a tree: each domain of that level holds a multiple of this many members."""


@dataclass(frozen=True, slots=True, eq=False)
class TopologyScope:
    """A request on one tree. Depths are places in the levels of the tree; the cluster is 0.

    All members must be in one domain at depth `must`. `prefer` are the preferred depths, from the
    top down. `unknown` are layers that are only preferred, and do not exist.
    """

    tree: Topology
    must: int = 0
    prefer: tuple[int, ...] = ()
    unknown: Problem | None = None


def resolve(
    topology_request: TopologyRequest, tree_specs: Sequence[TreeSpec], nodes: NodeTable
) -> TopologyScope | Problem:
    """Return the scope of the request, or why it has none. Computed once for each node table."""
    key = ("ground", topology_request, tuple(tree_specs))
    return nodes.cached(key, functools.partial(_resolve, topology_request, tree_specs, nodes))


def sizes_of(slices: Iterable[Slices], scope: TopologyScope) -> Sizes | Problem:
    """Return the slice sizes by depth; a size is a multiple of all sizes below it."""
    own = [1] * len(scope.tree.levels)
    deepest = -1
    for each in slices:
        depth = scope.tree.depth_of(each.layer)
        if depth is None:
            return _unknown([each.layer], [scope.tree.tree_spec])
        if not each.whole and depth <= deepest:
            return _invalid(each.layer, SliceFault.NOT_BELOW_OTHER_SLICES)
        if not each.whole and depth < max(scope.must, *scope.prefer, 0):
            return _invalid(each.layer, SliceFault.ABOVE_GATHERING)
        own[depth] = math.lcm(own[depth], each.size)
        deepest = depth
    for depth in range(len(own) - 2, -1, -1):
        own[depth] = math.lcm(own[depth], own[depth + 1])
    return tuple(own)


def sliced_at(sizes: Sizes) -> list[int]:
    """Return the depths that have slices of their own, from the top down."""
    return [depth for depth, (size, inner) in enumerate(pairwise((*sizes, 1))) if size > inner]


def inner_sizes(sizes: Sizes) -> Sizes:
    """Return the sizes of the slices inside one outermost slice."""
    smaller = next((size for size in sizes if size < sizes[0]), 1)
    return tuple(min(size, smaller) for size in sizes)


def _resolve(
    topology_request: TopologyRequest, tree_specs: Sequence[TreeSpec], nodes: NodeTable
) -> TopologyScope | Problem:
    needed = [*topology_request.must, *(each.layer for each in topology_request.slices)]
    wanted = [
        ref for ref in topology_request.prefer if ref.by_label or _known(ref, tree_specs, nodes)
    ]
    found = _tree([*needed, *wanted], tree_specs, nodes)
    if isinstance(found, Problem):
        return found
    depths = {ref: found.depth_of(ref) or 0 for ref in (*topology_request.must, *wanted)}
    prefer = {depths[ref] for ref in wanted}
    if topology_request.upward:
        prefer = set(range(1, max(prefer, default=0) + 1))
    strange = [ref for ref in topology_request.prefer if ref not in wanted]
    return TopologyScope(
        tree=found,
        must=max((depths[ref] for ref in topology_request.must), default=0),
        prefer=tuple(sorted(prefer)),
        unknown=_unknown(strange, tree_specs) if strange else None,
    )


def _tree(
    refs: Sequence[LayerRef], tree_specs: Sequence[TreeSpec], nodes: NodeTable
) -> Topology | Problem:
    """Return the first tree that has all these layers."""
    for tree_spec in tree_specs or (NODES_ALONE,):
        tree = topology.build(tree_spec, nodes)
        if all(tree.depth_of(ref) is not None for ref in refs):
            return tree
    lost = [ref for ref in refs if not _known(ref, tree_specs, nodes)]
    named = [ref for ref in lost if not ref.by_label]
    if named:
        return _unknown(named, tree_specs)
    implied = topology.build(_implied(lost[0]), nodes) if lost else None
    if implied is not None and all(implied.depth_of(ref) is not None for ref in refs):
        return implied
    names = tuple(ref.name for ref in dict.fromkeys(refs))
    return Problem(Reason.INVALID_SPEC, LayersApart(names))


def _implied(ref: LayerRef) -> TreeSpec:
    """Return the tree of a label key that is in no topology; its layer is right above the nodes."""
    layers = (Layer(ref.name, label_keys=(ref.name,)), Layer(NODE_LAYER, parent=ref.name))
    return TreeSpec(f"label {ref.name}", layers, lone_nodes=False)


def _known(ref: LayerRef, tree_specs: Sequence[TreeSpec], nodes: NodeTable) -> bool:
    trees = (topology.build(tree_spec, nodes) for tree_spec in tree_specs or (NODES_ALONE,))
    return any(tree.depth_of(ref) is not None for tree in trees)


def _unknown(refs: Sequence[LayerRef], tree_specs: Sequence[TreeSpec]) -> Problem:
    """Return a problem with the unknown layers, the known layers, and the most similar ones."""
    known = tuple(dict.fromkeys(layer.name for each in tree_specs for layer in each.layers))
    names = tuple(ref.name for ref in refs)
    return Problem(Reason.UNKNOWN_LAYER, UnknownLayers(names, known, _near(names[0], known)))


def _near(name: str, known: Sequence[str]) -> str:
    by_lower = {each.lower(): each for each in reversed(known)}
    found = similar_names.alike_in_part(name.lower(), by_lower, _stem, cutoff=CLOSE_ENOUGH)
    return next((by_lower[each] for each in found), "")


def _stem(name: str) -> str:
    """Return the distinctive part of a layer's name, without the words that all layers share."""
    return name.replace("topology", "").replace("layer", "") or name


def _invalid(ref: LayerRef, fault: SliceFault) -> Problem:
    return Problem(Reason.INVALID_SPEC, InvalidSlice(ref.name, fault))
