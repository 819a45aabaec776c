"""Topology spread constraints that must hold.

Semantics of kube-scheduler's PodTopologySpread: with the pod, no domain may have more than
`max_skew` pods above the emptiest one. Only nodes count that have the keys of all constraints and
that the constraint's policies include; with fewer domains than `minDomains`, the minimum is 0.
Members of one gang see each other.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Spread
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.filters import node_affinity, taints
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = Obstacle(
    "TOPOLOGY_SPREAD",
    "is ruled out by topology spread constraints",
    "are ruled out by topology spread constraints",
)

NO_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"
SKEWED = "node(s) didn't match pod topology spread constraints"


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has a constraint that must hold."""
    return pod_class.pod_affinity is not None and any(
        each.hard for each in pod_class.pod_affinity.spread
    )


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return how many more pods each node's domain may have if the emptiest domain gets none."""
    labelled = _labelled(pod_class, trial.nodes)
    room = np.where(labelled, UNLIMITED, 0)
    # A pod may have thousands of constraints, but no node has thousands of labels.
    for each in _hard(pod_class) if labelled.any() else ():
        np.minimum(room, _more(each, pod_class, trial), out=room)
    return room.clip(min=0)


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes by the first constraint that rejects them."""
    counts: Counter[str] = Counter()
    left = rejected
    for each in _hard(pod_class):
        if not left.any():
            break
        labelled = label_domains.has_domain(trial.nodes.label(each.key))
        skewed = labelled & (_more(each, pod_class, trial) <= 0)
        counts[NO_LABEL] += int((left & ~labelled).sum())
        counts[SKEWED] += int((left & skewed).sum())
        left = left & labelled & ~skewed
    return +counts


def coupled(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether a pod of the class on one node changes how many pods fit on other nodes."""
    return concerns(pod_class, trial) and any(
        each.selector in pod_class.selected_by for each in _hard(pod_class)
    )


def at_once(pod_class: PodClass, trial: Trial) -> Caps | None:
    """Return how many pods each domain may get if the emptiest one gets none.

    The emptiest domain can only fill up, so these caps are safe.
    """
    coupling = [each for each in _hard(pod_class) if each.selector in pod_class.selected_by]
    if len(coupling) > 1:
        return None
    column = trial.nodes.label(coupling[0].key)
    most = np.zeros(len(column.values) + 1, dtype=np.int64)
    most[column.codes] = _more(coupling[0], pod_class, trial)
    return Caps(column.codes, most[:-1].clip(min=0))


def one_by_one(pod_class: PodClass, trial: Trial) -> "_Skews":
    """Return the nodes that all constraints allow, pod by pod."""
    return _Skews(pod_class, trial)


def most_slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return no limit for nodes with all keys, since the emptiest domain may fill up in between."""
    return np.where(_labelled(pod_class, trial.nodes), UNLIMITED, 0)


class _Skews:
    """All constraints of a class while its pods are placed one by one."""

    def __init__(self, pod_class: PodClass, trial: Trial) -> None:
        self._open = _labelled(pod_class, trial.nodes)
        self._moving: list[_Skew] = []
        # A pod may have thousands of constraints, but no node has thousands of labels.
        for each in _hard(pod_class) if self._open.any() else ():
            if each.selector in pod_class.selected_by and _counts(each):
                self._moving.append(_Skew(each, pod_class, trial))
            else:
                self._open = self._open & (_more(each, pod_class, trial) > 0)

    def open(self) -> BoolArray:
        """Return the nodes that all constraints allow for the next pod."""
        left = self._open
        for each in self._moving:
            left = left & each.open()
        return left

    def placed(self, row: int) -> None:
        """Count a pod on a node."""
        for each in self._moving:
            each.placed(row)


class _Skew:
    """One constraint that selects the class itself; sums are by domain."""

    def __init__(self, spread: Spread, pod_class: PodClass, trial: Trial) -> None:
        column = trial.nodes.label(spread.key)
        there, expected = _found(spread, trial)
        self._spread = spread
        self._codes = column.codes
        self._counted = _included(spread, pod_class, trial.nodes)
        self._known = _known(spread, pod_class, trial.nodes)
        self._there = label_domains.by_domain(column, np.where(self._counted, there, 0))
        self._expected = label_domains.by_domain(column, np.where(self._counted, expected, 0))

    def open(self) -> BoolArray:
        """Return the nodes whose domain may take another pod, and the nodes without a domain."""
        if not len(self._known):
            return np.ones(len(self._codes), dtype=np.bool_)
        enough = len(self._known) >= self._spread.min_domains
        least = int(self._there[self._known].min()) if enough else 0
        open_: BoolArray = np.append(self._expected < self._spread.max_skew + least, True)
        return open_[self._codes]

    def placed(self, row: int) -> None:
        """Count a pod on a node."""
        if self._counted[row]:
            self._there[self._codes[row]] += 1
            self._expected[self._codes[row]] += 1


def _hard(pod_class: PodClass) -> list[Spread]:
    return (
        [each for each in pod_class.pod_affinity.spread if each.hard]
        if pod_class.pod_affinity is not None
        else []
    )


def _more(spread: Spread, pod_class: PodClass, trial: Trial) -> IntArray:
    """Return how many more pods each node's domain may have.

    If the selector does not select the class itself, there is either no limit or no room at all.
    """
    column = trial.nodes.label(spread.key)
    counted = _included(spread, pod_class, trial.nodes)
    known = _known(spread, pod_class, trial.nodes)
    if not len(known):
        # Without a domain to compare with, no number is too large.
        return np.full(len(trial.nodes), UNLIMITED, dtype=np.int64)
    there, expected = _found(spread, trial)
    least = 0
    if len(known) >= spread.min_domains:
        # A nominated pod counts in its own domain, but does not raise the minimum.
        least = int(label_domains.in_domain(column, np.where(counted, there, 0))[counted].min())
    in_domain = label_domains.in_domain(column, np.where(counted, expected, 0))
    more: IntArray = spread.max_skew + least - in_domain
    if spread.selector in pod_class.selected_by:
        return more
    return np.where(more >= 0, UNLIMITED, 0)


def _found(spread: Spread, trial: Trial) -> tuple[IntArray, IntArray]:
    """Return the pods that a constraint counts on each node, without and with nominated pods."""
    if not _counts(spread):
        zeros = np.zeros(len(trial.nodes), dtype=np.int64)
        return zeros, zeros
    return trial.pod_affinity.present(spread.selector), trial.pod_affinity.expected(spread.selector)


def _counts(spread: Spread) -> bool:
    """Return whether a constraint counts pods.

    An empty selector selects the pod itself, but counts no pods.
    """
    return any(clause.labels for clause in spread.selector.clauses)


def _known(spread: Spread, pod_class: PodClass, nodes: NodeTable) -> IntArray:
    """Return the codes of the domains with nodes that count. Computed once per class."""

    def compute() -> IntArray:
        counted = _included(spread, pod_class, nodes)
        return np.unique(nodes.label(spread.key).codes[counted])

    return nodes.cached(("domains of spread", spread, pod_class), compute)


def _included(spread: Spread, pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that count.

    Computed once per class until the nodes change.
    """

    def compute() -> BoolArray:
        included = _labelled(pod_class, nodes)
        if spread.honours_affinity:
            included = included & node_affinity.passes(pod_class, nodes)
        if spread.honours_taints:
            included = included & taints.passes(pod_class, nodes)
        return included

    return nodes.cached(("spread over", spread, pod_class), compute)


def _labelled(pod_class: PodClass, nodes: NodeTable) -> BoolArray:
    """Return the nodes that have the keys of all constraints. Computed once per class, as above."""

    def compute() -> BoolArray:
        return label_domains.has_domains((each.key for each in _hard(pod_class)), nodes)

    return nodes.cached(("keys of spread", pod_class), compute)
