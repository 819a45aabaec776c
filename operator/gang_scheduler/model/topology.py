"""The tree of network domains: which nodes are near each other, as slices of one order of nodes.

In the order of the tree every domain, of whatever layer, is one contiguous slice. So the sum of
anything over all domains of a layer is one `np.add.reduceat(values[tree.rows], level.starts)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.layers import CLUSTER_LAYER, Layer, Layers
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray, NodeTable


@dataclass(frozen=True, eq=False)
class Level:
    """All domains of one layer, in tree order. A domain is known by its place here.

    Names are unique within a parent at most: two blocks of one name under two spines are two.
    `starts` and `sizes` are in nodes; `parents` are places in the level above.
    """

    layer: str
    names: tuple[str, ...]
    starts: IntArray
    sizes: IntArray
    parents: IntArray

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Topology:
    """A tree over the nodes of a table.

    `rows` are the rows of the table in the order of the tree, `outside` those of nodes that lack
    a label, in the order of the table. `levels` go from the cluster down to the nodes; without a
    node in the tree all but the first are empty.
    """

    layers: Layers
    nodes: NodeTable
    rows: IntArray
    outside: IntArray
    levels: tuple[Level, ...]

    @property
    def outside_names(self) -> list[str]:
        """The names of the nodes outside the tree, in natural order."""
        return [self.nodes.nodes[row].name for row in self.outside.tolist()]


class _Column(NamedTuple):
    """The domains of one layer, a row a node: names in natural order, and codes that index them.

    A name may be there twice: a node that is a domain of its own can be called like another one.
    """

    codes: IntArray
    names: Sequence[str]


def build(layers: Layers, nodes: NodeTable) -> Topology:
    """Return the tree of layers that `layers.in_order` gave. Linear in nodes times layers.

    A node that lacks only the label of the layer right above the nodes is a domain of its own
    there, named after itself. One that lacks a label higher up is outside the tree.
    """
    *upper, _ = layers
    columns = [_column(layer, nodes) for layer in upper]
    inside = np.ones(len(nodes), dtype=np.bool_)
    for column in columns[:-1]:
        inside &= column.codes != ABSENT
    if columns:
        columns[-1] = _with_lone_nodes(columns[-1], nodes, inside)
    rows = np.flatnonzero(inside)
    # The last key is the first criterion. The table is in natural order, and sorting is stable.
    keys = [column.codes[rows] for column in reversed(columns)]
    rows = rows[np.lexsort(keys)] if keys else rows
    return Topology(
        layers=layers,
        nodes=nodes,
        rows=_frozen(rows),
        outside=_frozen(np.flatnonzero(~inside)),
        levels=_levels(layers, columns, nodes, rows),
    )


def _column(layer: Layer, nodes: NodeTable) -> _Column:
    """Return the layer's domains by label; of several labels the first with a value counts."""
    names: dict[str, int] = {}
    codes = np.full(len(nodes), ABSENT, dtype=np.int64)
    for key in layer.label_keys:
        label = nodes.label(key)
        # An empty value is none. The one more at the end is where ABSENT, which is -1, points.
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
    levels = [_level(CLUSTER_LAYER, [""], np.zeros(1, dtype=np.int64), count, None)]
    for layer, column in zip(layers, columns, strict=False):
        codes = column.codes[rows]
        # A domain begins where one above it does, and where the next one beside it does.
        begins[1:] |= codes[1:] != codes[:-1]
        starts = np.flatnonzero(begins)
        names = [column.names[code] for code in codes[starts].tolist()]
        levels.append(_level(layer.name, names, starts, count, levels[-1]))
    names = [nodes.nodes[row].name for row in rows.tolist()]
    levels.append(_level(layers[-1].name, names, np.arange(count), count, levels[-1]))
    return tuple(levels)


def _level(
    layer: str, names: Sequence[str], starts: IntArray, count: int, above: Level | None
) -> Level:
    parents = np.full(len(starts), ABSENT, dtype=np.int64)
    if above is not None:
        parents = np.searchsorted(above.starts, starts, side="right") - 1
    sizes = np.diff(np.append(starts, count))
    return Level(layer, tuple(names), _frozen(starts), _frozen(sizes), _frozen(parents))


def _frozen(column: IntArray) -> IntArray:
    column.flags.writeable = False
    return column
