"""Preferred affinity and anti-affinity between pods.

Semantics of kube-scheduler's InterPodAffinity, except that preferences of pods on nodes do not
count for the pod to be placed.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import ABSENT, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import AffinityTerm
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.trial import Trial

UNMET_A_LOOK: Final = 50
"""The terms without pods that can be passed over in the time of one look."""
TERMS_A_LOOK: Final = 16
"""The terms with pods that can be weighed on a few nodes in the time of one look."""
NODES_A_TERM: Final = 2_500
"""This many nodes double the time of a term."""


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has preferences among pods."""
    return pod_class.pod_affinity is not None and bool(pod_class.pod_affinity.preferred)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return for each node the weights of all terms, once for each pod selected in its domain."""
    # Weighed before they are summed: a pod has thousands of terms, but nodes have few keys.
    by_key: dict[str, IntArray] = {}
    weighed = 0
    for weight, term in _terms(pod_class):
        if trial.nodes.label(term.key).values and trial.pod_affinity.has_any(term.selector):
            found = by_key.setdefault(term.key, np.zeros(len(trial.nodes), dtype=np.int64))
            found += weight * trial.pod_affinity.present(term.selector)
            weighed += 1
    _count(len(_terms(pod_class)), weighed, trial)
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for key, found in by_key.items():
        total += label_domains.in_domain(trial.nodes.label(key), found)
    return total


def _terms(pod_class: PodClass) -> Sequence[tuple[int, AffinityTerm]]:
    return () if pod_class.pod_affinity is None else pod_class.pod_affinity.preferred


def _count(terms: int, weighed: int, trial: Trial) -> None:
    """Count the work of weighing this many of these terms."""
    weighing = weighed * (1 + len(trial.nodes) / NODES_A_TERM) / TERMS_A_LOOK
    trial.effort.count(terms / UNMET_A_LOOK + weighing)


def coupled(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether members of the class change each other's scores."""
    return any(term.selector in pod_class.selected_by for _, term in _terms(pod_class))


def one_by_one(pod_class: PodClass, trial: Trial) -> "_Near":
    """Return the scores pod by pod."""
    return _Near(pod_class, trial)


class _Near:
    """The scores for pods that change each other's scores, while they are placed one by one."""

    def __init__(self, pod_class: PodClass, trial: Trial) -> None:
        self._total = score(pod_class, trial)
        own = Counter[str]()
        for weight, term in _terms(pod_class):
            if term.selector in pod_class.selected_by and trial.nodes.label(term.key).values:
                own[term.key] += weight
        self._own = [(weight, trial.nodes.label(key).codes) for key, weight in own.items()]

    def score(self) -> IntArray:
        """Return the scores for the next pod."""
        return self._total

    def placed(self, row: int) -> None:
        """Add a pod to the domains of its node."""
        for weight, codes in self._own:
            if codes[row] != ABSENT:
                self._total[codes == codes[row]] += weight
