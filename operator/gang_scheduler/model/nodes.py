"""A node, and all nodes of a snapshot as columns."""

import copy
import functools
import weakref
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.refs import natural_key
from gang_scheduler.model.resources import Requests
from gang_scheduler.model.selectors import NodeTerm, Requirement, integer_of

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
T = TypeVar("T")

UNLIMITED: Final = int(np.iinfo(np.int64).max)
"""The number of pods that a filter without a limit allows on a node."""

MOST_CACHED = 20_000
"""A table keeps this many cached values for pod classes, in case all pods differ."""

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
class Toleration:
    """A toleration; empty keys, values and effects mean the same as in Kubernetes."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


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
        """Return, for each node, whether its value is one of the `wanted` ones."""
        chosen = [self.by_value[each] for each in set(wanted) if each in self.by_value]
        if len(chosen) == 1:
            one: BoolArray = self.codes == chosen[0]
            return one
        wanted_values = np.zeros(len(self.values), dtype=np.bool_)
        wanted_values[chosen] = True
        return self.pick(wanted_values)

    def pick(self, chosen: BoolArray) -> BoolArray:
        """Return the nodes whose value is among the chosen ones, given as a mask of `values`."""
        if not chosen.any():
            return np.zeros(len(self.codes), dtype=np.bool_)
        # A node without the label has the code -1, and so the last entry.
        found: BoolArray = np.append(chosen, False)[self.codes]
        return found

    def numbers(self, parse: Callable[[str], int | None]) -> tuple[IntArray, BoolArray]:
        """Return the values as numbers, and which of them are; parsed once."""
        if "_numbers" not in self.__dict__:
            parsed = [parse(value) for value in self.values]
            numbers = np.array([each or 0 for each in parsed], dtype=np.int64)
            known = np.array([each is not None for each in parsed], dtype=np.bool_)
            object.__setattr__(self, "_numbers", (numbers, known))
        found: tuple[IntArray, BoolArray] = self.__dict__["_numbers"]
        return found


NO_CLASSES: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ListedNodes:
    """The nodes of a table by row and by name, and which of them offer resources as devices."""

    nodes: tuple[Node, ...]
    rows: Mapping[str, int]
    by_devices: Mapping[str, BoolArray]


class NodeTable:
    """Nodes in natural order of their names, with their properties as numpy columns. Immutable.

    `resources` is the axis of every request vector: all resources that any node offers. Results of
    filters are kept in the table (`cached`), so that pods of one class are filtered once for as
    long as no node changes. `device_classes` maps resources that stand for devices to their
    DeviceClasses. The resources in `asked` are on the axis even if no node lists them; once the
    devices are counted, `by_devices` says for each of these resources which nodes offer it as
    devices.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        device_classes: Mapping[str, str] = NO_CLASSES,
        asked: Iterable[str] = (),
    ) -> None:
        self.device_classes = device_classes
        self.asked = tuple(sorted(asked))
        self.by_devices: Mapping[str, BoolArray] | None = None
        self.nodes = tuple(sorted(nodes, key=lambda node: natural_key(node.name)))
        self.rows = {node.name: row for row, node in enumerate(self.nodes)}
        self.resources = tuple(
            sorted({*self.asked, *(name for node in self.nodes for name, _ in node.allocatable)})
        )
        self.axis = {name: column for column, name in enumerate(self.resources)}
        self.allocatable = self._allocatable()
        self.ready = np.array([node.ready for node in self.nodes], dtype=np.bool_)
        self.unschedulable = np.array([node.unschedulable for node in self.nodes], dtype=np.bool_)
        self._cache: dict[Hashable, Any] = {}
        self._rows_in: tuple[weakref.ref[ListedNodes], IntArray] | None = None
        self._listed: ListedNodes | None = None

    def __len__(self) -> int:
        return len(self.nodes)

    def _allocatable(self) -> IntArray:
        # One column is read at a time, so columns are contiguous: dividing one takes a third.
        shape = len(self.nodes), len(self.resources)
        table = np.zeros(shape, dtype=np.int64, order="F")
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
        """Return the table as if no kubelet had rejected a pod; itself, if none has."""
        if not any(node.refused for node in self.nodes):
            return self
        nodes = (replace(node, refused=()) for node in self.nodes)
        table = NodeTable(nodes, self.device_classes, self.asked)
        table.by_devices, table.allocatable = self.by_devices, self.allocatable
        return table

    def with_devices(self, numbers: Mapping[str, IntArray]) -> "NodeTable":
        """Return the table with these amounts, one for each node, of the asked resources.

        A node that lists a resource itself keeps the amount that it lists.
        """
        table = copy.copy(self)
        table._cache, table._rows_in = {}, None  # noqa: SLF001 - of its own class.
        table._listed = None  # noqa: SLF001
        table.allocatable = self.allocatable.copy(order="F")
        table.by_devices = {}
        for name, number in numbers.items():
            column = self.axis[name]
            offers = self.allocatable[:, column] == 0
            table.allocatable[offers, column] = number[offers]
            table.by_devices = {**table.by_devices, name: offers}
        table.allocatable.flags.writeable = False
        return table

    @property
    def listed(self) -> ListedNodes:
        """The nodes alone: always the same object, which does not keep the table in memory."""
        if self._listed is None:
            self._listed = ListedNodes(self.nodes, self.rows, self.by_devices or {})
        return self._listed

    def rows_in(self, other: ListedNodes) -> IntArray:
        """Return the row of each node in another table, ABSENT if it is not the same there.

        It is the same if no field differs, and if it offers the same resources as devices.
        """
        if self._rows_in is None or self._rows_in[0]() is not other:
            self._rows_in = weakref.ref(other), self._same_in(other)
        return self._rows_in[1]

    def _same_in(self, other: ListedNodes) -> IntArray:
        places = (other.rows.get(node.name, ABSENT) for node in self.nodes)
        pairs = zip(self.nodes, places, strict=True)
        same = [ABSENT if at < 0 or other.nodes[at] is not node else at for node, at in pairs]
        rows = np.array(same, dtype=np.int64)
        here, there = self.by_devices or {}, other.by_devices
        if here.keys() != there.keys():
            return np.full_like(rows, ABSENT)
        for name, offers in here.items():
            rows[(rows >= 0) & (offers != there[name][rows])] = ABSENT
        return rows

    def cached(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, computed once for this table and key."""
        if len(self._cache) > MOST_CACHED:
            self._cache.clear()
        if key not in self._cache:
            self._cache[key] = compute()
        found: T = self._cache[key]
        return found

    def label(self, key: str) -> LabelColumn:
        """Return the column of one label. All labels that no node has share a column."""
        if key not in self.cached("label-keys", self._label_keys):
            return self.cached("no-label", functools.partial(self._label, key))
        return self.cached(("label", key), functools.partial(self._label, key))

    def _label_keys(self) -> frozenset[str]:
        return frozenset().union(*(node.labels for node in self.nodes))

    def _label(self, key: str) -> LabelColumn:
        codes: dict[str, int] = {}
        column = [
            codes.setdefault(node.labels[key], len(codes)) if key in node.labels else ABSENT
            for node in self.nodes
        ]
        return LabelColumn(np.array(column, dtype=np.int64), tuple(codes))

    def taint_sets(self) -> tuple[IntArray, tuple[tuple[Taint, ...], ...]]:
        """Return the index of each node's set of taints, and the sets."""
        return self.cached("taint sets", self._taint_sets)

    def _taint_sets(self) -> tuple[IntArray, tuple[tuple[Taint, ...], ...]]:
        codes: dict[tuple[Taint, ...], int] = {}
        column = [codes.setdefault(node.taints, len(codes)) for node in self.nodes]
        return np.array(column, dtype=np.int64), tuple(codes)


# The nodes of a table that the terms of a node selector match, by the rules of
# `selectors.matches_any_term`.


def any_term(terms: Iterable[NodeTerm], nodes: NodeTable) -> BoolArray:
    """Return, for each node, whether at least one of the terms matches it."""
    allowed = np.zeros(len(nodes), dtype=np.bool_)
    for term in terms:
        if term:
            allowed |= np.logical_and.reduce([_holds(each, nodes) for each in term])
    return allowed


def _holds(requirement: Requirement, nodes: NodeTable) -> BoolArray:
    column = _names(nodes) if requirement.on_field else nodes.label(requirement.key)
    return TESTS[requirement.operator](column, requirement.values)


def _names(nodes: NodeTable) -> LabelColumn:
    return nodes.cached(
        "names",
        lambda: LabelColumn(np.arange(len(nodes)), tuple(node.name for node in nodes.nodes)),
    )


def _compare(column: LabelColumn, values: tuple[str, ...], *, greater: bool) -> BoolArray:
    bound = integer_of(values[0]) if len(values) == 1 else None
    if bound is None:
        return np.zeros(len(column.codes), dtype=np.bool_)
    numbers, are_numbers = column.numbers(integer_of)
    return column.pick(are_numbers & (numbers > bound if greater else numbers < bound))


TESTS: Mapping[Operator, Callable[[LabelColumn, tuple[str, ...]], BoolArray]] = {
    Operator.IN: lambda column, values: column.matches(values),
    Operator.NOT_IN: lambda column, values: ~column.matches(values),
    Operator.EXISTS: lambda column, _: column.codes != ABSENT,
    Operator.DOES_NOT_EXIST: lambda column, _: column.codes == ABSENT,
    Operator.GT: lambda column, values: _compare(column, values, greater=True),
    Operator.LT: lambda column, values: _compare(column, values, greater=False),
}


def terms(of: tuple[NodeTerm, ...], nodes: NodeTable) -> BoolArray:
    """Return the result of `any_term`, computed once for each node table."""
    return nodes.cached(("volume", of), functools.partial(any_term, of, nodes))
