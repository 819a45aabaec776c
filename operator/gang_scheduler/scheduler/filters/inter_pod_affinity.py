"""Required affinity and anti-affinity between pods, in both directions.

Semantics of kube-scheduler's InterPodAffinity. A pod counts for an affinity if all terms of the
affinity select it. As long as no such pod exists, the first pod of a series may go to any node that
has the topology keys. A pod also stays away from pods whose own anti-affinity selects it. Members
of one gang see each other. Nominated pods count for anti-affinity, not for affinity.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import ABSENT, UNLIMITED, BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Affinity
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = Obstacle(
    "POD_AFFINITY",
    "is ruled out by affinity or anti-affinity between pods",
    "are ruled out by affinity or anti-affinity between pods",
)

AFFINITY = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY = "node(s) didn't match pod anti-affinity rules"
AVOIDED = "node(s) didn't satisfy existing pods anti-affinity rules"
TERMS_A_LOOK: Final = 20
"""The number of remembered terms of a class that can be checked in the time of one look."""
SUMS_A_LOOK: Final = 3
"""Summing this many columns of a few nodes by domain takes one look."""
NODES_A_SUM: Final = 2_500
"""This many nodes double the time of a sum."""


def concerns(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether the class has required terms, or pods on nodes have anti-affinity to it."""
    asks = pod_class.pod_affinity is not None and (
        pod_class.pod_affinity.anti or pod_class.pod_affinity.affinity is not None
    )
    return bool(asks) or any(True for _ in trial.pod_affinity.avoiding(pod_class))


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return 0 where a rule forbids the class, 1 where a pod keeps the next away, else no limit."""
    forbidden = np.logical_or.reduce(list(_verdicts(pod_class, trial).values()))
    return np.where(forbidden, 0, _most(pod_class, trial.nodes))


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes by the first rule that forbids them."""
    counts: Counter[str] = Counter()
    left = rejected
    for words, forbidden in _verdicts(pod_class, trial).items():
        counts[words] = int((left & forbidden).sum())
        left = left & ~forbidden
    return +counts


def coupled(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether a pod of the class on one node changes how many pods fit on other nodes."""
    pod_affinity = pod_class.pod_affinity
    if pod_affinity is None:
        return False
    if pod_affinity.affinity is not None and _is_first(pod_affinity.affinity, pod_class, trial):
        return True
    return any(
        term.selector in pod_class.selected_by
        and not label_domains.one_node_each(term.key, trial.nodes)
        for term in pod_affinity.anti
    )


def at_once(pod_class: PodClass, trial: Trial) -> Caps | None:
    """Return caps of one pod for each domain; None if pods must be placed one by one."""
    pod_affinity = pod_class.pod_affinity
    if pod_affinity is None or (
        pod_affinity.affinity is not None and _is_first(pod_affinity.affinity, pod_class, trial)
    ):
        return None
    own = {term.key for term in pod_affinity.anti if term.selector in pod_class.selected_by}
    keys = [key for key in own if not label_domains.one_node_each(key, trial.nodes)]
    if len(keys) > 1:
        return None
    column = trial.nodes.label(keys[0])
    return Caps(column.codes, np.ones(len(column.values), dtype=np.int64))


def one_by_one(pod_class: PodClass, trial: Trial) -> "_Apart | None":
    """Return the nodes that no rule forbids, pod by pod; None before the first pod of a series."""
    pod_affinity = pod_class.pod_affinity
    affinity = pod_affinity.affinity if pod_affinity is not None else None
    if affinity is not None and _is_first(affinity, pod_class, trial):
        return None
    return _Apart(pod_class, trial)


def most_slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the slots as if pods that the class's affinity selects were in every domain."""
    verdicts = _verdicts(pod_class, trial)
    forbidden = verdicts[ANTI_AFFINITY] | verdicts[AVOIDED]
    return np.where(forbidden, 0, _most(pod_class, trial.nodes))


class _Apart:
    """The nodes for pods that keep each other away, while these are placed one by one."""

    def __init__(self, pod_class: PodClass, trial: Trial) -> None:
        self._open = slots(pod_class, trial) > 0
        terms = pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ()
        keys = {each.key for each in terms if each.selector in pod_class.selected_by}
        self._codes = [trial.nodes.label(key).codes for key in sorted(keys)]

    def open(self) -> BoolArray:
        """Return the nodes that remain for the next pod."""
        return self._open

    def placed(self, row: int) -> None:
        """Close the domains of a node."""
        for codes in self._codes:
            if codes[row] != ABSENT:
                self._open[codes == codes[row]] = False


def _verdicts(pod_class: PodClass, trial: Trial) -> dict[str, BoolArray]:
    """Return the nodes that each rule forbids, in the order of kube-scheduler."""
    ledger, own = trial.pod_affinity, pod_class.pod_affinity
    together, summed = np.zeros(len(trial.nodes), dtype=np.bool_), ledger.summed
    if own is not None and own.affinity is not None:
        together = ~_allowed(own.affinity, pod_class, trial)
    apart = ledger.near_any(own.anti if own is not None else ())
    avoided = ledger.avoided_by(pod_class)
    _count(_number_of_terms(pod_class, trial), ledger.summed - summed, trial)
    return {AFFINITY: together, ANTI_AFFINITY: apart, AVOIDED: avoided}


def _number_of_terms(pod_class: PodClass, trial: Trial) -> int:
    own = pod_class.pod_affinity
    keys = own.affinity.keys if own is not None and own.affinity is not None else ()
    terms = own.anti if own is not None else ()
    return len(keys) + len(terms) + sum(1 for _ in trial.pod_affinity.avoiding(pod_class))


def _count(terms: int, summed: int, trial: Trial) -> None:
    """Count the work of checking terms; for a pod with many terms, the present search pays."""
    many, few = divmod(terms, TERMS_A_LOOK)
    sums = summed * (1 + len(trial.nodes) / NODES_A_SUM)
    trial.effort.spend(many)
    trial.effort.count(few / TERMS_A_LOOK + sums / SUMS_A_LOOK)


def _allowed(affinity: Affinity, pod_class: PodClass, trial: Trial) -> BoolArray:
    """Return the nodes that share a domain of every key with a pod that the affinity selects."""
    if not _is_first(affinity, pod_class, trial):
        return trial.pod_affinity.near_all(affinity.selector, affinity.keys)
    return label_domains.has_domains(affinity.keys, trial.nodes)


def _is_first(affinity: Affinity, pod_class: PodClass, trial: Trial) -> bool:
    """Return whether the affinity selects the class itself, and no pod anywhere yet."""
    return affinity.selector in pod_class.selected_by and trial.pod_affinity.is_near_none(
        affinity.selector, affinity.keys
    )


def _most(pod_class: PodClass, nodes: NodeTable) -> IntArray:
    """Return 1 for nodes where a pod of the class keeps the next one away, else UNLIMITED."""

    def compute() -> IntArray:
        terms = pod_class.pod_affinity.anti if pod_class.pod_affinity is not None else ()
        most = np.full(len(nodes), UNLIMITED, dtype=np.int64)
        for key in {term.key for term in terms if term.selector in pod_class.selected_by}:
            most[label_domains.has_domain(nodes.label(key))] = 1
        return most

    return nodes.cached(("most in a domain", pod_class), compute)
