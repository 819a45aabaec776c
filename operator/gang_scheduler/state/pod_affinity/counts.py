"""How many pods on each node every selector selects, and how many keep other pods away."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

import numpy as np

from gang_scheduler.model.affinity.pod_affinity import AffinityCounts, AffinityTerm, PodSelector
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass

K = TypeVar("K", bound=Hashable)
NodeCounts = Counter[str]
"""Pods by the name of their node."""


class SelectorCounts:
    """Counts kept pod by pod. Reading costs by the selectors asked for; nothing without any."""

    def __init__(self) -> None:
        self._present: dict[PodSelector, NodeCounts] = {}
        self._avoiding: dict[PodSelector, dict[AffinityTerm, NodeCounts]] = {}

    def count(self, node: str, pod_class: PodClass, sign: int) -> None:
        """Count a pod on a node; with the sign -1, stop counting it."""
        for selector in pod_class.selected_by:
            _add(self._present, selector, node, sign)
        for term in pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ():
            terms = self._avoiding.setdefault(term.selector, {})
            _add(terms, term, node, sign)
            if not terms:
                del self._avoiding[term.selector]

    def meant_anew(self, node: str, before: PodClass, after: PodClass) -> None:
        """Count a pod that other selectors select now; its own terms are the same."""
        for selector in after.selected_by - before.selected_by:
            _add(self._present, selector, node, 1)
        for selector in before.selected_by - after.selected_by:
            _add(self._present, selector, node, -1)

    def of(self, pod_classes: Iterable[PodClass], rows: Mapping[str, int]) -> AffinityCounts:
        """Return the counts that matter to pods of these classes, by the rows of nodes."""
        asked: set[PodSelector] = set()
        meant: set[PodSelector] = set()
        for pod_class in pod_classes:
            meant |= pod_class.selected_by
            if pod_class.pod_affinity is not None:
                asked |= pod_class.pod_affinity.selectors
        terms = (
            item for each in meant & self._avoiding.keys() for item in self._avoiding[each].items()
        )
        return AffinityCounts(
            present={s: _column(self._present[s], rows) for s in asked & self._present.keys()},
            avoiding={term: _column(heads, rows) for term, heads in terms},
        )


def _add(counted: dict[K, NodeCounts], key: K, node: str, sign: int) -> None:
    heads = counted.get(key)
    if heads is None:
        heads = counted[key] = Counter()
    heads[node] += sign
    if not heads[node]:
        del heads[node]
    if not heads:
        del counted[key]


def _column(heads: NodeCounts, rows: Mapping[str, int]) -> IntArray:
    column = np.zeros(len(rows), dtype=np.int64)
    for node, number in heads.items():
        if node in rows:
            column[rows[node]] = number
    column.flags.writeable = False
    return column
