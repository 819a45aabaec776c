"""The tree of network domains, kept as one order of nodes.

In that order every domain, of any layer, is one contiguous slice. So sums over all domains of a
layer are one `np.add.reduceat(values[tree.rows], level.starts)`.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.layers import CLUSTER_LAYER, NODE_LAYER, Layer, Layers, TreeSpec
from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray, NodeTable
from gang_scheduler.model.refs import natural_key
from gang_scheduler.model.topology_request import HOSTNAME, LayerRef


@dataclass(frozen=True, eq=False)
class Level:
    """All domains of one layer, in tree order. A domain is identified by its index.

    Names are unique only within a parent: blocks with the same name under two spines are two
    domains. The nodes of a domain begin at `starts` in the order of the tree, and are `sizes` many;
    `parents` are indices in the level above. `ranks` sort the domains by name.
    """

    layer: str
    names: tuple[str, ...]
    starts: IntArray
    sizes: IntArray
    parents: IntArray
    ranks: IntArray

    def __len__(self) -> int:
        return len(self.names)

    def at(self, places: IntArray) -> IntArray:
        """Return, for each of these places in the order of the tree, the index of its domain."""
        return np.searchsorted(self.starts, places, side="right") - 1


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain as users see it: its layer, and the names from the top down to its own."""

    layer: str
    path: tuple[str, ...]

    def __str__(self) -> str:
        return "/".join((self.layer, *self.path))


@dataclass(frozen=True, eq=False)
class Topology:
    """A tree over the nodes of a table.

    `rows` are the rows of the table in the order of the tree, so that `rows[place]` is the row of a
    place in the tree; `places` is the inverse, ABSENT for a node outside. `outside` are the rows of
    nodes that lack a label, in the order of the table. `levels` go from the cluster down to the
    nodes; if the tree has no node, all but the first are empty.
    """

    tree_spec: TreeSpec
    nodes: NodeTable
    rows: IntArray
    places: IntArray
    outside: IntArray
    levels: tuple[Level, ...]

    @property
    def layers(self) -> Layers:
        """The layers from the top to the nodes. The levels additionally begin with the cluster."""
        return self.tree_spec.layers

    @property
    def outside_names(self) -> list[str]:
        """The names of the nodes outside the tree, in natural order."""
        return [self.nodes.nodes[row].name for row in self.outside.tolist()]

    def depth_of(self, ref: LayerRef) -> int | None:
        """Return the index of a layer in `levels`; None if the tree has no such layer."""
        if not ref.by_label and ref.name == CLUSTER_LAYER:
            return 0
        found = (i for i, layer in enumerate(self.layers, start=1) if _matches(layer, ref))
        return next(found, None)

    def slice_of(self, depth: int, place: int) -> slice:
        """Return the slice of tree places that belongs to the domain number `place` of a level."""
        level = self.levels[depth]
        start = int(level.starts[place])
        return slice(start, start + int(level.sizes[place]))

    def domain(self, depth: int, place: int) -> Domain:
        """Return a domain as users see it."""
        path: list[str] = []
        for level in reversed(self.levels[1 : depth + 1]):
            path.append(level.names[place])
            place = int(level.parents[place])
        return Domain(self.levels[depth].layer, tuple(reversed(path)))

    def lowest_of(self, rows: Sequence[int]) -> Domain | None:
        """Return the lowest domain that contains these rows of the table; None is the cluster."""
        places = self.places[np.array(rows, dtype=np.int64)]
        if not len(places) or (places == ABSENT).any():
            return None
        ends = np.array([places.min(), places.max()])
        for depth in range(len(self.levels) - 1, 0, -1):
            first, last = self.levels[depth].at(ends).tolist()
            if first == last:
                return self.domain(depth, first)
        return None


def _matches(layer: Layer, ref: LayerRef) -> bool:
    if not ref.by_label:
        return layer.name == ref.name
    return ref.name in layer.label_keys or (layer.name == NODE_LAYER and ref.name == HOSTNAME)


class _Column(NamedTuple):
    """The domains of one layer, one row for each node: names in natural order, and their codes.

    A name may occur twice: a node that is a domain of its own can have the name of another domain.
    """

    codes: IntArray
    names: Sequence[str]


def build(tree_spec: TreeSpec, nodes: NodeTable) -> Topology:
    """Return the tree over these nodes, built once for each table. Linear in nodes times layers.

    A node that lacks a label is outside the tree, except for the lone nodes of the tree spec.
    """
    return nodes.cached(("tree", tree_spec), functools.partial(_build, tree_spec, nodes))


def _build(tree_spec: TreeSpec, nodes: NodeTable) -> Topology:
    *upper, _ = tree_spec.layers
    columns = [_column(layer, nodes) for layer in upper]
    inside = np.ones(len(nodes), dtype=np.bool_)
    if tree_spec.node_label:
        inside &= nodes.label(tree_spec.node_label).codes != ABSENT
    for column in columns[:-1] if tree_spec.lone_nodes else columns:
        inside &= column.codes != ABSENT
    if columns and tree_spec.lone_nodes:
        columns[-1] = _with_lone_nodes(columns[-1], nodes, inside)
    rows = np.flatnonzero(inside)
    # The last key is the first criterion. The table is in natural order, and sorting is stable.
    keys = [column.codes[rows] for column in reversed(columns)]
    rows = rows[np.lexsort(keys)] if keys else rows
    places = np.full(len(nodes), ABSENT, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return Topology(
        tree_spec=tree_spec,
        nodes=nodes,
        rows=_frozen(rows),
        places=_frozen(places),
        outside=_frozen(np.flatnonzero(~inside)),
        levels=_levels(tree_spec.layers, columns, nodes, rows),
    )


def _column(layer: Layer, nodes: NodeTable) -> _Column:
    """Return the layer's domains by label.

    If there are several labels, the first non-empty one counts.
    """
    names: dict[str, int] = {}
    codes = np.full(len(nodes), ABSENT, dtype=np.int64)
    for key in layer.label_keys:
        label = nodes.label(key)
        # An empty value counts as absent. ABSENT, which is -1, indexes the extra entry at the end.
        shared = [names.setdefault(v, len(names)) if v else ABSENT for v in label.values]
        here = np.array([*shared, ABSENT], dtype=np.int64)[label.codes]
        codes = np.where(codes == ABSENT, here, codes)
    return _sorted(codes, list(names))


def _with_lone_nodes(column: _Column, nodes: NodeTable, inside: BoolArray) -> _Column:
    rows = np.flatnonzero(inside & (column.codes == ABSENT))
    codes = column.codes.copy()
    codes[rows] = len(column.names) + np.arange(len(rows))
    names = [*column.names, *(nodes.nodes[row].name for row in rows.tolist())]
    return _sorted(codes, names)


def _sorted(codes: IntArray, names: Sequence[str]) -> _Column:
    """Return the column with its codes in the natural order of the names."""
    order = sorted(range(len(names)), key=lambda code: natural_key(names[code]))
    ranks = np.full(len(names) + 1, ABSENT, dtype=np.int64)
    ranks[order] = np.arange(len(names))
    return _Column(ranks[codes], [names[code] for code in order])


def _levels(
    layers: Layers, columns: Sequence[_Column], nodes: NodeTable, rows: IntArray
) -> tuple[Level, ...]:
    count = len(rows)
    begins = np.zeros(count, dtype=np.bool_)
    begins[:1] = True
    root = np.zeros(1, dtype=np.int64)
    levels = [_level(CLUSTER_LAYER, [""], root, root, count, None)]
    for layer, column in zip(layers, columns, strict=False):
        codes = column.codes[rows]
        # A domain begins where its parent begins, and where the name changes.
        begins[1:] |= codes[1:] != codes[:-1]
        starts = np.flatnonzero(begins)
        ranks = codes[starts]
        names = [column.names[code] for code in ranks.tolist()]
        levels.append(_level(layer.name, names, ranks, starts, count, levels[-1]))
    names = [nodes.nodes[row].name for row in rows.tolist()]
    levels.append(_level(layers[-1].name, names, rows, np.arange(count), count, levels[-1]))
    return tuple(levels)


def _level(  # noqa: PLR0917 - the columns of one level, in the order of its fields.
    layer: str,
    names: Sequence[str],
    ranks: IntArray,
    starts: IntArray,
    count: int,
    above: Level | None,
) -> Level:
    parents = np.full(len(starts), ABSENT, dtype=np.int64)
    if above is not None:
        parents = np.searchsorted(above.starts, starts, side="right") - 1
    sizes = np.diff(np.append(starts, count))
    columns = (_frozen(column) for column in (starts, sizes, parents, ranks.copy()))
    return Level(layer, tuple(names), *columns)


def _frozen(column: IntArray) -> IntArray:
    column.flags.writeable = False
    return column
