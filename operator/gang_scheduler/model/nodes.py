"""A node, and all nodes of a snapshot as columns."""

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.model.refs import natural_key
from gang_scheduler.model.resources import Requests

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
T = TypeVar("T")

UNLIMITED: Final = int(np.iinfo(np.int64).max)
"""The number of pods that a filter without a limit allows on a node."""

MOST_DERIVED = 20_000
"""A table keeps this many derived values for pod classes, in case all pods differ."""

ABSENT = -1
"""The code of a label that a node does not have."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"

    def __str__(self) -> str:
        """As kubectl shows it."""
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Node:
    """The fields of a node that the scheduler reads.

    `allocatable` is sorted by resource name; `features` are the features that the node declares.
    `not_ready_since` is in seconds since the epoch; 0 for a node that is ready, or does not say.
    `refused` are the requests of pods that its kubelet rejected recently, and its reasons.
    """

    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    allocatable: tuple[tuple[str, int], ...] = ()
    features: frozenset[str] = frozenset()
    not_ready_since: int = 0
    refused: tuple[tuple[Requests, str], ...] = ()


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """The values of one label as small integers, one row for each node; ABSENT if unset."""

    codes: IntArray
    values: tuple[str, ...]
    by_value: Mapping[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the code of each value: thousands of volumes look one up each."""
        object.__setattr__(self, "by_value", {each: i for i, each in enumerate(self.values)})

    def matches(self, wanted: Iterable[str]) -> BoolArray:
        """Return the nodes with one of the `wanted` values."""
        chosen = [self.by_value[each] for each in set(wanted) if each in self.by_value]
        if len(chosen) == 1:
            one: BoolArray = self.codes == chosen[0]
            return one
        return np.isin(self.codes, chosen)


NO_CLASSES: Final[Mapping[str, str]] = {}


class NodeTable:
    """Nodes in natural order of their names, with their properties as numpy columns. Immutable.

    `resources` is the axis of every request vector: all resources that any node offers. Results of
    filters are kept in the table (`derive`), so that pods of one class are filtered once for as
    long as no node changes. `device_classes` maps resources that stand for devices, and that no
    node lists itself, to their DeviceClasses.
    """

    def __init__(
        self, nodes: Iterable[Node], device_classes: Mapping[str, str] = NO_CLASSES
    ) -> None:
        self.device_classes = device_classes
        self.nodes = tuple(sorted(nodes, key=lambda node: natural_key(node.name)))
        self.rows = {node.name: row for row, node in enumerate(self.nodes)}
        self.resources = tuple(
            sorted({name for node in self.nodes for name, _ in node.allocatable})
        )
        self.axis = {name: column for column, name in enumerate(self.resources)}
        self.allocatable = self._allocatable()
        self.ready = np.array([node.ready for node in self.nodes], dtype=np.bool_)
        self.unschedulable = np.array([node.unschedulable for node in self.nodes], dtype=np.bool_)
        self._derived: dict[Hashable, Any] = {}

    def __len__(self) -> int:
        return len(self.nodes)

    def _allocatable(self) -> IntArray:
        table = np.zeros((len(self.nodes), len(self.resources)), dtype=np.int64)
        for row, node in enumerate(self.nodes):
            for name, amount in node.allocatable:
                table[row, self.axis[name]] = amount
        table.flags.writeable = False
        return table

    def vector(self, amounts: Iterable[tuple[str, int]]) -> IntArray:
        """Return amounts along the resource axis; resources that no node offers are left out."""
        vector = np.zeros(len(self.resources), dtype=np.int64)
        for name, amount in amounts:
            if name in self.axis:
                vector[self.axis[name]] = amount
        return vector

    def refusing_nothing(self) -> "NodeTable":
        """Return the nodes without the rejections of their kubelets; itself, if there are none."""
        if not any(node.refused for node in self.nodes):
            return self
        nodes = (replace(node, refused=()) for node in self.nodes)
        return NodeTable(nodes, self.device_classes)

    def derive(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, computed once for this table and key."""
        if len(self._derived) > MOST_DERIVED:
            self._derived.clear()
        if key not in self._derived:
            self._derived[key] = compute()
        derived: T = self._derived[key]
        return derived

    def label(self, key: str) -> LabelColumn:
        """Return the column of one label."""
        return self.derive(("label", key), functools.partial(self._label, key))

    def _label(self, key: str) -> LabelColumn:
        codes: dict[str, int] = {}
        column = [
            codes.setdefault(node.labels[key], len(codes)) if key in node.labels else ABSENT
            for node in self.nodes
        ]
        return LabelColumn(np.array(column, dtype=np.int64), tuple(codes))

    def taint_sets(self) -> tuple[IntArray, tuple[tuple[Taint, ...], ...]]:
        """Return each node's set of taints as a code, and the sets."""
        return self.derive("taint sets", self._taint_sets)

    def _taint_sets(self) -> tuple[IntArray, tuple[tuple[Taint, ...], ...]]:
        codes: dict[tuple[Taint, ...], int] = {}
        column = [codes.setdefault(node.taints, len(codes)) for node in self.nodes]
        return np.array(column, dtype=np.int64), tuple(codes)
