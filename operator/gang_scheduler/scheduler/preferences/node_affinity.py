"""Preferred node affinity. Semantics of kube-scheduler's NodeAffinity."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import any_term
from gang_scheduler.scheduler.policies import Steady
from gang_scheduler.scheduler.trial import Trial


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has preferences among nodes."""
    return bool(pod_class.preferred)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return for each node the sum of the weights of the terms that match it."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for weight, term in pod_class.preferred:
        total += weight * any_term([term], trial.nodes)
    return total


def coupled(_pod_class: PodClass, _trial: Trial) -> bool:
    """Return False: pods do not change labels of nodes."""
    return False


def one_by_one(pod_class: PodClass, trial: Trial) -> Steady:
    """Return the same scores for each pod."""
    return Steady(score(pod_class, trial))
