"""Taints with effect NoSchedule or NoExecute must be tolerated.

Semantics of kube-scheduler's TaintToleration. The operators Lt and Gt, of the feature gate
TaintTolerationComparisonOperators, compare 64-bit integers in canonical decimal form; a comparison
with anything else is false.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, Taint
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass, Toleration

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


def passes(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes without an untolerated hard taint.

    Evaluated once for each distinct set of taints.
    """
    codes, sets = nodes.taint_sets()
    allowed = [_untolerated(pod_class, each) is None for each in sets]
    return np.array(allowed, dtype=np.bool_)[codes]


def reasons(pod_class: PodClass, nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Name the first untolerated taint of each node."""
    codes, sets = nodes.taint_sets()
    counts: Counter[str] = Counter()
    for code, number in zip(*np.unique(codes[rejected], return_counts=True), strict=True):
        taint = _untolerated(pod_class, sets[code])
        if taint is not None:
            words = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
            counts[words] += int(number)
    return counts


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Return whether one of the tolerations is for this taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def untolerated(pod_class: PodClass, taints: Iterable[Taint]) -> Iterator[Taint]:
    """Yield the taints that keep away pods of a class."""
    hard = (taint for taint in taints if taint.effect in HARD)
    return (taint for taint in hard if not tolerated(pod_class.tolerations, taint))


def _untolerated(pod_class: PodClass, taints: Iterable[Taint]) -> Taint | None:
    return next(untolerated(pod_class, taints), None)


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
