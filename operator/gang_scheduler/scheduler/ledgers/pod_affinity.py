"""How many pods on each node a selector selects, and how many keep other pods away."""

import copy
from collections.abc import Hashable, Iterator, Mapping
from typing import TypeVar

import numpy as np

from gang_scheduler.model.affinity.pod_affinity import AffinityCounts, AffinityTerm, PodSelector
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass

K = TypeVar("K", bound=Hashable)
NO_TERMS: Mapping[AffinityTerm, IntArray] = {}


class PodAffinityLedger:
    """The counts of a snapshot, changed by what is assumed on it. Columns are copied on change."""

    def __init__(self, counts: AffinityCounts, nodes: int) -> None:
        self._present = dict(counts.present)
        self._nominated: dict[PodSelector, IntArray] = {}
        self._avoiding: dict[PodSelector, dict[AffinityTerm, IntArray]] = {}
        for term, column in counts.avoiding.items():
            self._avoiding.setdefault(term.selector, {})[term] = column
        self._none_there = np.zeros(nodes, dtype=np.int64)

    def copy(self) -> "PodAffinityLedger":
        """Return another ledger of the same state."""
        other = copy.copy(self)
        other._present = dict(self._present)  # noqa: SLF001 - one of its own class.
        other._nominated = dict(self._nominated)  # noqa: SLF001 - as above.
        avoiding = {key: dict(terms) for key, terms in self._avoiding.items()}
        other._avoiding = avoiding  # noqa: SLF001 - as above.
        return other

    def present(self, selector: PodSelector) -> IntArray:
        """Return how many pods the selector selects, a row a node."""
        return self._present.get(selector, self._none_there)

    def expected(self, selector: PodSelector) -> IntArray:
        """Return how many pods the selector selects, nominated pods included."""
        kept = self._nominated.get(selector)
        return self.present(selector) if kept is None else self.present(selector) + kept

    def avoiding(self, pod_class: PodClass) -> Iterator[tuple[AffinityTerm, IntArray]]:
        """Yield the terms by which pods on nodes want none of this class near, and where."""
        for selector in pod_class.selected_by:
            yield from self._avoiding.get(selector, NO_TERMS).items()

    def apply(
        self, pod_class: PodClass, rows: IntArray, counts: IntArray, *, nominated: bool = False
    ) -> None:
        """Count so many pods of a class on these rows; negative counts take back."""
        columns = self._nominated if nominated else self._present
        for selector in pod_class.selected_by:
            self._add(columns, selector, rows, counts)
        for term in pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ():
            self._add(self._avoiding.setdefault(term.selector, {}), term, rows, counts)

    def _add(self, columns: dict[K, IntArray], key: K, rows: IntArray, counts: IntArray) -> None:
        column = columns.get(key, self._none_there).copy()
        column[rows] += counts
        columns[key] = column
