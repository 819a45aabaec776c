"""How many pods on each node a selector selects, and how many keep other pods away."""

import copy
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import (
    AffinityCounts,
    AffinityTerm,
    FewNodes,
    NodeCounts,
    PodSelector,
    column_of,
)
from gang_scheduler.scheduler import label_domains

K = TypeVar("K", bound=Hashable)
NO_TERMS: Mapping[AffinityTerm, "_Column"] = {}
_Source = tuple[IntArray | None, IntArray | None]
"""The columns from which results were computed. They never change."""
MOST_REMEMBERED: Final = 20_000_000
"""At most this many verdicts are remembered, each for one node and one term."""


MOST_PENDING: Final = 32
"""A column may be changed this many times without being read. Then it is added up."""


class _Changed:
    """A column with changes that are added when it is read. Of thousands of columns, few are.

    Placing 200 pods with 100 terms of their own each takes 0.3 s, and without this 2.7 s.
    """

    __slots__ = ("added", "before", "changes", "pending")

    def __init__(self, before: "_Column") -> None:
        if isinstance(before, _Changed) and before.pending >= MOST_PENDING:
            before = before.sum()
        self.pending: int = before.pending + 1 if isinstance(before, _Changed) else 1
        self.before = before
        self.changes: list[tuple[IntArray, IntArray]] = []
        self.added: IntArray | None = None

    def add(self, rows: IntArray, counts: IntArray) -> None:
        """Add to some rows: only before the column is read or copied."""
        self.changes.append((rows, counts))

    def sum(self) -> IntArray:
        """Return the column: the same array each time."""
        if self.added is None:
            before, changes = self.before, [self.changes]
            while isinstance(before, _Changed) and before.added is None:
                changes.append(before.changes)
                before = before.before
            found = _read(before).copy()
            for each in reversed(changes):
                for rows, counts in each:
                    found[rows] += counts
            self.added = self.before = found
            self.changes, self.pending = [], 0
        return self.added


_Column = NodeCounts | _Changed
MOST_SUMMED_APART: Final = 16
"""The domains of this many terms are remembered one by one; with more terms, they are summed.

Pods of a user can have tens of thousands of terms about a gang, and a column of each takes memory.
"""

WIDELY_SELECTED: Final = 64
"""Pods that more selectors select are counted when a selector is read, and not in each column.

Other users may write thousands of terms about a pod, and few are read while it is placed.
"""
MOST_PARTS: Final = 16
"""This many changes of a class are kept one by one before they are added up."""

_Part = tuple[IntArray, IntArray]
"""Rows, and how many pods on each."""


class _WidelySelected:
    """The pods assumed on nodes whose classes very many selectors select. Linear in the classes."""

    def __init__(self) -> None:
        self._parts: dict[PodClass, tuple[int, tuple[_Part, ...]]] = {}
        self._changes = 0
        self._sums: dict[PodSelector, tuple[tuple[int, int], IntArray]] = {}

    def copy(self) -> "_WidelySelected":
        """Return an independent copy."""
        other = copy.copy(self)
        other._parts = dict(self._parts)  # noqa: SLF001 - one of its own class.
        other._sums = dict(self._sums)  # noqa: SLF001 - as above.
        return other

    def add(self, pod_class: PodClass, rows: IntArray, counts: IntArray) -> None:
        """Count this many more pods of a class on the nodes of these rows."""
        self._changes += 1
        _, parts = self._parts.get(pod_class, (0, ()))
        parts = (*parts, (rows, counts))
        self._parts[pod_class] = (
            self._changes,
            _added_up(parts) if len(parts) > MOST_PARTS else parts,
        )

    def of(self, selector: PodSelector, number: int) -> IntArray | None:
        """Return how many of these pods a selector selects on each of `number` nodes.

        None if it has never selected any. The same array as long as nothing has changed.
        """
        chosen = [each for each in self._parts if selector in each.selected_by]
        if not chosen:
            return None
        state = len(chosen), max(self._parts[each][0] for each in chosen)
        known = self._sums.get(selector)
        if known is not None and known[0] == state:
            return known[1]
        found = np.zeros(number, dtype=np.int64)
        rows, counts = _joined(part for each in chosen for part in self._parts[each][1])
        np.add.at(found, rows, counts)
        self._sums[selector] = state, found
        return found


def _joined(parts: Iterable[_Part]) -> _Part:
    listed = list(parts)
    if not listed:
        return _NO_PART
    rows, counts = zip(*listed, strict=True)
    return np.concatenate(rows), np.concatenate(counts)


def _added_up(parts: Iterable[_Part]) -> tuple[_Part, ...]:
    rows, counts = _joined(parts)
    found, places = np.unique(rows, return_inverse=True)
    sums = np.zeros(len(found), dtype=np.int64)
    np.add.at(sums, places, counts)
    there = sums != 0
    return ((found[there], sums[there]),)


_NO_PART: Final[_Part] = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def _read(column: _Column) -> IntArray:
    return column.sum() if isinstance(column, _Changed) else column_of(column)


def _added_together(columns: Iterable[_Column], number: int) -> IntArray:
    """Return the sum of columns. No array is made for columns with few pods or changes."""
    found = np.zeros(number, dtype=np.int64)
    rows: list[int] = []
    counts: list[int] = []
    for each in columns:
        column = each
        while isinstance(column, _Changed) and column.added is None:
            for some_rows, some_counts in column.changes:
                rows.extend(some_rows.tolist())
                counts.extend(some_counts.tolist())
            column = column.before
        if isinstance(column, FewNodes):
            rows.extend(column.rows)
            counts.extend(column.counts)
        else:
            found += _read(column)
    np.add.at(found, np.array(rows, dtype=np.int64), np.array(counts, dtype=np.int64))
    return found


class PodAffinityLedger:
    """The pod counts of a snapshot, changed by the pods assumed on it.

    Columns do not change: a change makes a new column.
    """

    def __init__(self, counts: AffinityCounts, nodes: NodeTable) -> None:
        self._present: dict[PodSelector, _Column] = dict(counts.present)
        self._nominated: dict[PodSelector, _Column] = {}
        self._avoiding: dict[PodSelector, dict[AffinityTerm, _Column]] = {}
        for term, column in counts.avoiding.items():
            self._avoiding.setdefault(term.selector, {})[term] = column
        self._widely = {False: _WidelySelected(), True: _WidelySelected()}
        self._sums: dict[tuple[PodSelector, bool], tuple[IntArray, IntArray, IntArray]] = {}
        self._none_there = np.zeros(len(nodes), dtype=np.int64)
        self._nodes = nodes
        self.summed = 0
        """How often a column was summed by domain, which counts as work."""
        self._near: dict[tuple[PodSelector, str, bool], tuple[_Source, BoolArray]] = {}

    def copy(self) -> "PodAffinityLedger":
        """Return an independent copy; both ledgers share the remembered matches."""
        other = copy.copy(self)
        other._present = dict(self._present)  # noqa: SLF001 - one of its own class.
        other._nominated = dict(self._nominated)  # noqa: SLF001 - as above.
        avoiding = {key: dict(terms) for key, terms in self._avoiding.items()}
        other._avoiding = avoiding  # noqa: SLF001 - as above.
        widely = {nominated: each.copy() for nominated, each in self._widely.items()}
        other._widely = widely  # noqa: SLF001 - as above.
        other._sums = dict(self._sums)  # noqa: SLF001 - as above.
        return other

    def present(self, selector: PodSelector) -> IntArray:
        """Return how many pods the selector selects on each node, by row."""
        found = self._known(selector)
        return self._none_there if found is None else found

    def has_any(self, selector: PodSelector) -> bool:
        """Return whether the selector has ever selected a pod on a node."""
        return self._known(selector) is not None

    def expected(self, selector: PodSelector) -> IntArray:
        """Return how many pods the selector selects, nominated pods included."""
        kept = self._known(selector, nominated=True)
        return self.present(selector) if kept is None else self.present(selector) + kept

    def near_all(self, selector: PodSelector, keys: Iterable[str]) -> BoolArray:
        """Return the nodes that share a domain of every key with pods the selector selects."""
        source = self._known(selector), None
        if source[0] is None:
            return np.zeros(len(self._nodes), dtype=np.bool_)
        allowed = np.ones(len(self._nodes), dtype=np.bool_)
        for key in keys:
            if not self._nodes.label(key).values:
                return np.zeros(len(self._nodes), dtype=np.bool_)
            allowed &= self._found(selector, key, source)
        return allowed

    def is_near_none(self, selector: PodSelector, keys: Iterable[str]) -> bool:
        """Return whether no domain of any key has a pod that the selector selects."""
        source = self._known(selector), None
        if source[0] is None:
            return True
        return not any(
            self._found(selector, key, source).any()
            for key in keys
            if self._nodes.label(key).values
        )

    def near_any(self, terms: Iterable[AffinityTerm]) -> BoolArray:
        """Return the nodes near pods that a term selects, nominated pods included."""
        found = np.zeros(len(self._nodes), dtype=np.bool_)
        for term in terms:
            kept = self._known(term.selector, nominated=True)
            source = self._known(term.selector), kept
            if source[0] is not None or source[1] is not None:
                found |= self._found(term.selector, term.key, source)
        return found

    def avoided_by(self, pod_class: PodClass) -> BoolArray:
        """Return the nodes near pods with anti-affinity to this class."""
        found = np.zeros(len(self._nodes), dtype=np.bool_)
        columns = [*self._avoiding_columns(pod_class)]
        if len(columns) > MOST_SUMMED_APART:
            by_key: dict[str, list[_Column]] = {}
            for term, column in columns:
                by_key.setdefault(term.key, []).append(column)
            for key, those in by_key.items():
                there = _added_together(those, len(self._nodes))
                found |= label_domains.in_domain(self._nodes.label(key), there) > 0
            self.summed += len(by_key)
            return found
        for term, column in columns:
            source = _read(column), None
            found |= self._found(term.selector, term.key, source, avoiding=True)
        return found

    def avoiding(self, pod_class: PodClass) -> Iterator[AffinityTerm]:
        """Yield the anti-affinity terms of pods on nodes that select this class."""
        if self._avoiding:
            for term, _ in self._avoiding_columns(pod_class):
                yield term

    def _avoiding_columns(self, pod_class: PodClass) -> Iterator[tuple[AffinityTerm, _Column]]:
        chosen: Iterable[PodSelector] = pod_class.selected_by
        if len(self._avoiding) < len(pod_class.selected_by):
            chosen = (each for each in self._avoiding if each in pod_class.selected_by)
        for selector in chosen:
            yield from self._avoiding.get(selector, NO_TERMS).items()

    def changes(self) -> "AffinityChanges":
        """Return an object that makes several changes to this ledger."""
        return AffinityChanges(
            *(self._present, self._nominated, self._avoiding), self._widely, self._none_there
        )

    def _known(self, selector: PodSelector, *, nominated: bool = False) -> IntArray | None:
        """Return how many pods a selector selects on each node; None if it never selected any.

        The same array as long as nothing has changed.
        """
        column = (self._nominated if nominated else self._present).get(selector)
        widely = self._widely[nominated].of(selector, len(self._none_there))
        if column is None or widely is None:
            return widely if column is None else _read(column)
        counted = _read(column)
        known = self._sums.get((selector, nominated))
        if known is None or known[0] is not counted or known[1] is not widely:
            known = counted, widely, counted + widely
            self._sums[selector, nominated] = known
        return known[2]

    def _found(
        self, selector: PodSelector, key: str, source: _Source, *, avoiding: bool = False
    ) -> BoolArray:
        """Return the nodes whose domain of a key has pods that these columns count."""
        remembered = self._near.get((selector, key, avoiding))
        if remembered is not None and all(
            one is other for one, other in zip(remembered[0], source, strict=True)
        ):
            return remembered[1]
        counts = sum((each for each in source if each is not None), self._none_there)
        near = label_domains.in_domain(self._nodes.label(key), counts) > 0
        self.summed += 1
        if len(self._near) * len(self._nodes) >= MOST_REMEMBERED:
            self._near.clear()
        self._near[selector, key, avoiding] = source, near
        return near


def number_of_columns(pod_class: PodClass) -> int:
    """Return how many columns of the ledger change with pods of a class."""
    selected = len(pod_class.selected_by)
    return (1 if selected > WIDELY_SELECTED else selected) + len(_anti(pod_class))


def _anti(pod_class: PodClass) -> Sequence[AffinityTerm]:
    return () if pod_class.pod_affinity is None else pod_class.pod_affinity.anti


class AffinityChanges:
    """Changes to a ledger that is not read in between."""

    def __init__(
        self,
        present: dict[PodSelector, _Column],
        nominated: dict[PodSelector, _Column],
        avoiding: dict[PodSelector, dict[AffinityTerm, _Column]],
        widely: Mapping[bool, _WidelySelected],
        none_there: IntArray,
    ) -> None:
        self._present = present
        self._nominated = nominated
        self._avoiding = avoiding
        self._widely = widely
        self._none_there = none_there
        self._own: dict[int, _Changed] = {}

    def apply(
        self, pod_class: PodClass, rows: IntArray, counts: IntArray, *, nominated: bool = False
    ) -> None:
        """Count this many pods of a class on the nodes of these rows; negative counts undo it."""
        if len(pod_class.selected_by) > WIDELY_SELECTED:
            self._widely[nominated].add(pod_class, rows, counts)
        else:
            columns = self._nominated if nominated else self._present
            for selector in pod_class.selected_by:
                self._add(columns, selector, rows, counts)
        for term in _anti(pod_class):
            self._add(self._avoiding.setdefault(term.selector, {}), term, rows, counts)

    def _add(self, columns: dict[K, _Column], key: K, rows: IntArray, counts: IntArray) -> None:
        column = columns.get(key, self._none_there)
        changed = self._own.get(id(column))
        if changed is None:
            changed = columns[key] = _Changed(column)
            self._own[id(changed)] = changed
        changed.add(rows, counts)
