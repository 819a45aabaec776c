"""How many pods on each node a selector selects, and how many keep other pods away."""

import copy
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import AffinityCounts, AffinityTerm, PodSelector
from gang_scheduler.scheduler import label_domains

K = TypeVar("K", bound=Hashable)
NO_TERMS: Mapping[AffinityTerm, IntArray] = {}
_Source = tuple[IntArray | None, IntArray | None]
"""The columns from which results were computed. They never change: a change makes a copy."""
MOST_REMEMBERED: Final = 20_000_000
"""At most this many verdicts are remembered, each for one node and one term."""


class PodAffinityLedger:
    """The pod counts of a snapshot, changed by the pods assumed on it.

    Columns are copied on change.
    """

    def __init__(self, counts: AffinityCounts, nodes: NodeTable) -> None:
        self._present = dict(counts.present)
        self._nominated: dict[PodSelector, IntArray] = {}
        self._avoiding: dict[PodSelector, dict[AffinityTerm, IntArray]] = {}
        for term, column in counts.avoiding.items():
            self._avoiding.setdefault(term.selector, {})[term] = column
        self._none_there = np.zeros(len(nodes), dtype=np.int64)
        self._nodes = nodes
        self.summed = 0
        """How often a column was summed by domain, which counts as work."""
        self._near: dict[tuple[PodSelector, str, bool], tuple[_Source, BoolArray]] = {}

    def copy(self) -> "PodAffinityLedger":
        """Return another ledger of the same state; both share the remembered matches."""
        other = copy.copy(self)
        other._present = dict(self._present)  # noqa: SLF001 - one of its own class.
        other._nominated = dict(self._nominated)  # noqa: SLF001 - as above.
        avoiding = {key: dict(terms) for key, terms in self._avoiding.items()}
        other._avoiding = avoiding  # noqa: SLF001 - as above.
        return other

    def present(self, selector: PodSelector) -> IntArray:
        """Return how many pods the selector selects on each node, by row."""
        return self._present.get(selector, self._none_there)

    def expected(self, selector: PodSelector) -> IntArray:
        """Return how many pods the selector selects, nominated pods included."""
        kept = self._nominated.get(selector)
        return self.present(selector) if kept is None else self.present(selector) + kept

    def near_all(self, selector: PodSelector, keys: Iterable[str]) -> BoolArray:
        """Return the nodes that share a domain of every key with pods the selector selects."""
        source = self._present.get(selector), None
        allowed = np.ones(len(self._nodes), dtype=np.bool_)
        for key in keys:
            allowed &= self._found(selector, key, source)
        return allowed

    def is_near_none(self, selector: PodSelector, keys: Iterable[str]) -> bool:
        """Return whether no domain of any key has a pod that the selector selects."""
        source = self._present.get(selector), None
        if source[0] is None:
            return True
        return not any(self._found(selector, key, source).any() for key in keys)

    def near_any(self, terms: Iterable[AffinityTerm]) -> BoolArray:
        """Return the nodes near pods that a term selects, nominated pods included."""
        found = np.zeros(len(self._nodes), dtype=np.bool_)
        for term in terms:
            source = self._present.get(term.selector), self._nominated.get(term.selector)
            if source[0] is not None or source[1] is not None:
                found |= self._found(term.selector, term.key, source)
        return found

    def avoided_by(self, pod_class: PodClass) -> BoolArray:
        """Return the nodes near pods with anti-affinity to this class."""
        found = np.zeros(len(self._nodes), dtype=np.bool_)
        for term, column in self.avoiding(pod_class):
            found |= self._found(term.selector, term.key, (column, None), avoiding=True)
        return found

    def avoiding(self, pod_class: PodClass) -> Iterator[tuple[AffinityTerm, IntArray]]:
        """Yield anti-affinity terms of pods on nodes that select this class, with their counts."""
        for selector in pod_class.selected_by:
            yield from self._avoiding.get(selector, NO_TERMS).items()

    def changes(self) -> "AffinityChanges":
        """Return an object that makes several changes to this ledger."""
        return AffinityChanges(self._present, self._nominated, self._avoiding, self._none_there)

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
    return len(pod_class.selected_by) + len(_anti(pod_class))


def _anti(pod_class: PodClass) -> Sequence[AffinityTerm]:
    return () if pod_class.pod_affinity is None else pod_class.pod_affinity.anti


class AffinityChanges:
    """Changes to a ledger that is not read in between: each column is copied at most once."""

    def __init__(
        self,
        present: dict[PodSelector, IntArray],
        nominated: dict[PodSelector, IntArray],
        avoiding: dict[PodSelector, dict[AffinityTerm, IntArray]],
        none_there: IntArray,
    ) -> None:
        self._present = present
        self._nominated = nominated
        self._avoiding = avoiding
        self._none_there = none_there
        self._copied: set[int] = set()

    def apply(
        self, pod_class: PodClass, rows: IntArray, counts: IntArray, *, nominated: bool = False
    ) -> None:
        """Count this many pods of a class on the nodes of these rows; negative counts undo it."""
        columns = self._nominated if nominated else self._present
        for selector in pod_class.selected_by:
            self._add(columns, selector, rows, counts)
        for term in _anti(pod_class):
            self._add(self._avoiding.setdefault(term.selector, {}), term, rows, counts)

    def _add(self, columns: dict[K, IntArray], key: K, rows: IntArray, counts: IntArray) -> None:
        column = columns.get(key, self._none_there)
        if id(column) not in self._copied:
            column = columns[key] = column.copy()
            self._copied.add(id(column))
        column[rows] += counts
