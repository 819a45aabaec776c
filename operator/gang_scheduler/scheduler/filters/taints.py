"""Taints with effect NoSchedule or NoExecute must be tolerated.

Semantics of kube-scheduler's TaintToleration. The operators Lt and Gt, of the feature gate
TaintTolerationComparisonOperators, compare 64-bit integers in canonical decimal form; a comparison
with anything else is false.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable, Taint, Toleration
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass

obstacle: Final = Obstacle(
    "TAINTS",
    "has a taint that the pod does not tolerate",
    "have taints that the pod does not tolerate",
)

HARD = frozenset({"NoSchedule", "NoExecute"})
OF_STATES = "node.kubernetes.io/"
"""Taints that Kubernetes gives to broken or cordoned nodes."""
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_LEAST, _GREATEST = -(2**63), 2**63 - 1


MOST_NAMED: Final = 20
"""This many taints are named. For nodes with other taints, only the number of nodes is."""


class TaintColumns:
    """The taints of some effects in all sets of taints of a table. There may be thousands of sets.

    `of_sets` has the sets, and `places` the taints, of all pairs of both in order.
    """

    def __init__(self, sets: Sequence[Sequence[Taint]], effects: Collection[str]) -> None:
        self.number_of_sets = len(sets)
        known: dict[Taint, int] = {}
        pairs = [
            (row, known.setdefault(taint, len(known)))
            for row, each in enumerate(sets)
            for taint in each
            if taint.effect in effects
        ]
        table = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
        self.of_sets, self.places = table[:, 0], table[:, 1]
        self.taints = tuple(known)
        self._by_key: dict[str, list[int]] = {}
        self._by_value: dict[tuple[str, str], list[int]] = {}
        for taint, place in known.items():
            self._by_key.setdefault(taint.key, []).append(place)
            self._by_value.setdefault((taint.key, taint.value), []).append(place)

    def untolerated(self, tolerations: Iterable[Toleration]) -> BoolArray:
        """Return the pairs whose taint none of these tolerations tolerates."""
        left = np.ones(len(self.taints), dtype=np.bool_)
        for each in dict.fromkeys(tolerations):
            there = [i for i in self._that_may_match(each) if _tolerates(each, self.taints[i])]
            left[there] = False
        return left[self.places]

    def _that_may_match(self, toleration: Toleration) -> Sequence[int]:
        if not toleration.key:
            return range(len(self.taints))
        if toleration.operator == "Equal":
            return self._by_value.get((toleration.key, toleration.value), ())
        return self._by_key.get(toleration.key, ())


def columns_of(nodes: NodeTable, effects: Collection[str]) -> TaintColumns:
    """Return the taints of some effects, made once for a table."""
    _, sets = nodes.taint_sets()
    return nodes.cached(("taints", effects), lambda: TaintColumns(sets, effects))


def numbers_untolerated(
    pod_class: PodClass, nodes: NodeTable, effects: Collection[str]
) -> IntArray:
    """Return how many taints of these effects on each node a class does not tolerate.

    Evaluated once for each distinct set of taints, and for the tolerations of many classes.
    """

    def compute() -> IntArray:
        codes, _ = nodes.taint_sets()
        columns = columns_of(nodes, effects)
        rows = columns.of_sets[columns.untolerated(pod_class.tolerations)]
        numbers: IntArray = np.bincount(rows, minlength=columns.number_of_sets)[codes]
        return numbers

    return nodes.cached(("untolerated", effects, pod_class.tolerations), compute)


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes without an untolerated hard taint."""
    passing: BoolArray = numbers_untolerated(pod_class, nodes, HARD) == 0
    return passing


def reasons(pod_class: PodClass, nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Name the first untolerated taint of each node."""
    codes, _ = nodes.taint_sets()
    columns = columns_of(nodes, HARD)
    untolerated = columns.untolerated(pod_class.tolerations)
    sets, first = np.unique(columns.of_sets[untolerated], return_index=True)
    of_sets = np.zeros(columns.number_of_sets, dtype=np.int64)
    of_sets[sets] = np.bincount(codes[rejected], minlength=columns.number_of_sets)[sets]
    nodes_of = np.bincount(
        columns.places[untolerated][first], of_sets[sets], minlength=len(columns.taints)
    ).astype(np.int64)
    named = np.flatnonzero(nodes_of)[np.argsort(-nodes_of[nodes_of > 0], kind="stable")].tolist()
    counts: Counter[str] = Counter()
    for place in named[:MOST_NAMED]:
        taint = columns.taints[place]
        words = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
        counts[words] += int(nodes_of[place])
    if len(named) > MOST_NAMED:
        counts["node(s) had other untolerated taints"] = int(nodes_of[named[MOST_NAMED:]].sum())
    return counts


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Return whether one of the tolerations is for this taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def untolerated(pod_class: PodClass, taints: Iterable[Taint]) -> Iterator[Taint]:
    """Yield the taints that keep away pods of a class."""
    hard = (taint for taint in taints if taint.effect in HARD)
    return (taint for taint in hard if not tolerated(pod_class.tolerations, taint))


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    return OPERATORS[toleration.operator](toleration.value, taint.value)


def _less(one: str, other: str) -> bool:
    first, second = _integer(one), _integer(other)
    return first is not None and second is not None and first < second


def _integer(text: str) -> int | None:
    # A much longer text is no 64-bit integer, and Python refuses to parse it.
    number = int(text) if _INTEGER.fullmatch(text) and len(text) <= len(str(_LEAST)) else None
    return number if number is not None and _LEAST <= number <= _GREATEST else None


OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "Exists": lambda _value, _taint: True,
    "Equal": lambda value, taint: value == taint,
    "Lt": lambda value, taint: _less(taint, value),
    "Gt": _less,
}
"""By operator: whether a toleration with the first value applies to a taint with the second."""
