"""Topology spread constraints that are preferences: domains with fewer pods come first.

Follows kube-scheduler's PodTopologySpread, without its weights by the number of domains.
"""

import numpy as np

from gang_scheduler.model.nodes import ABSENT, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import Spread
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.trial import Trial


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has a spread constraint that is only a preference."""
    return bool(_soft(pod_class))


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the negative number of pods in each node's domain; nodes without the key come last."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for each in _soft(pod_class):
        column = trial.nodes.label(each.key)
        if not column.values:
            total -= 1
            continue
        found = label_domains.in_domain(column, trial.pod_affinity.present(each.selector))
        total -= np.where(label_domains.has_domain(column), found, found.max(initial=0) + 1)
    return total


def coupled(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether members of the class change each other's scores."""
    return any(each.selector in pod_class.selected_by for each in _soft(pod_class))


def one_by_one(pod_class: PodClass, trial: Trial) -> "_Evenness":
    """Return the scores pod by pod."""
    return _Evenness(pod_class, trial)


class _Evenness:
    """The scores while pods are placed one by one; sums are by domain."""

    def __init__(self, pod_class: PodClass, trial: Trial) -> None:
        self._nodes = len(trial.nodes)
        self._sums: list[tuple[IntArray, IntArray]] = []
        self._moving: list[bool] = []
        for each in _soft(pod_class):
            column = trial.nodes.label(each.key)
            if not column.values:
                continue
            sums = label_domains.by_domain(column, trial.pod_affinity.present(each.selector))
            self._sums.append((column.codes, sums))
            self._moving.append(each.selector in pod_class.selected_by)

    def score(self) -> IntArray:
        """Return the scores for the next pod."""
        # A node without the key comes last.
        scores = [np.append(sums, sums.max(initial=0) + 1)[codes] for codes, sums in self._sums]
        total: IntArray = -np.sum([np.zeros(self._nodes, dtype=np.int64), *scores], axis=0)
        return total

    def placed(self, row: int) -> None:
        """Add a pod to the domains of its node."""
        for (codes, sums), moving in zip(self._sums, self._moving, strict=True):
            if moving and codes[row] != ABSENT:
                sums[codes[row]] += 1


def _soft(pod_class: PodClass) -> list[Spread]:
    return (
        [each for each in pod_class.pod_affinity.spread if not each.hard]
        if pod_class.pod_affinity is not None
        else []
    )
