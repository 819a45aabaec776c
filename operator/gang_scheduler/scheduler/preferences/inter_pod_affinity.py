"""Preferred affinity and anti-affinity between pods.

Semantics of kube-scheduler's InterPodAffinity, except that preferences of pods on nodes do not
count for the pod to be placed.
"""

import numpy as np

from gang_scheduler.model.nodes import ABSENT, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.trial import Trial


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has preferences among pods."""
    return pod_class.pod_affinity is not None and bool(pod_class.pod_affinity.preferred)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return for each node the weights of all terms, once for each pod selected in its domain."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for weight, term in (
        pod_class.pod_affinity.preferred if pod_class.pod_affinity is not None else ()
    ):
        found = trial.pod_affinity.present(term.selector)
        total += weight * label_domains.in_domain(trial.nodes.label(term.key), found)
    return total


def coupled(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether members of the class change each other's scores."""
    terms = pod_class.pod_affinity.preferred if pod_class.pod_affinity is not None else ()
    return any(term.selector in pod_class.selected_by for _, term in terms)


def one_by_one(pod_class: PodClass, trial: Trial) -> "_Near":
    """Return the scores pod by pod."""
    return _Near(pod_class, trial)


class _Near:
    """The scores for pods that change each other's scores, while they are placed one by one."""

    def __init__(self, pod_class: PodClass, trial: Trial) -> None:
        self._total = score(pod_class, trial)
        terms = pod_class.pod_affinity.preferred if pod_class.pod_affinity is not None else ()
        self._own = [
            (weight, trial.nodes.label(term.key).codes)
            for weight, term in terms
            if term.selector in pod_class.selected_by
        ]

    def score(self) -> IntArray:
        """Return the scores for the next pod."""
        return self._total

    def placed(self, row: int) -> None:
        """Add a pod to the domains of its node."""
        for weight, codes in self._own:
            if codes[row] != ABSENT:
                self._total[codes == codes[row]] += weight
