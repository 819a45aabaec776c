"""Taints of effect NoSchedule and NoExecute must be tolerated.

Semantics of kube-scheduler's TaintToleration, with the operators Exists and Equal.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from gang_scheduler.model.nodes import BoolArray, NodeTable, Taint
from gang_scheduler.model.pods import Ask, Toleration

HARD = frozenset({"NoSchedule", "NoExecute"})


def passes(ask: Ask, nodes: NodeTable) -> BoolArray:
    """Return the nodes without an untolerated hard taint, evaluated once a distinct set."""
    codes, sets = nodes.taint_sets()
    allowed = [_untolerated(ask, each) is None for each in sets]
    return np.array(allowed, dtype=np.bool_)[codes]


def reasons(ask: Ask, nodes: NodeTable, rejected: BoolArray) -> Counter[str]:
    """Name the first untolerated taint of each node."""
    codes, sets = nodes.taint_sets()
    counts: Counter[str] = Counter()
    for code, number in zip(*np.unique(codes[rejected], return_counts=True), strict=True):
        taint = _untolerated(ask, sets[code])
        if taint is not None:
            words = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
            counts[words] += int(number)
    return counts


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Tell whether one of the tolerations is for this taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _untolerated(ask: Ask, taints: Iterable[Taint]) -> Taint | None:
    hard = (taint for taint in taints if taint.effect in HARD)
    return next((taint for taint in hard if not tolerated(ask.tolerations, taint)), None)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect not in ("", taint.effect):
        return False
    if toleration.key not in ("", taint.key):
        return False
    return toleration.operator == "Exists" or toleration.value == taint.value
