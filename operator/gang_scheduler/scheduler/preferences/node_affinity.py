"""Preferred node affinity. Semantics of kube-scheduler's NodeAffinity."""

from typing import Final

import numpy as np

from gang_scheduler.model.nodes import IntArray, any_term
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.policies import Steady
from gang_scheduler.scheduler.trial import Trial

REQUIREMENTS_A_LOOK: Final = 10
"""The requirements that can be matched with the labels of a few nodes in the time of one look."""
NODES_A_REQUIREMENT: Final = 2_500
"""This many nodes double the time of a requirement."""


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has preferences among nodes."""
    return bool(pod_class.preferred)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return for each node the sum of the weights of the terms that match it."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    asked = sum(len(term) for _, term in pod_class.preferred)
    trial.effort.count(asked * (1 + len(trial.nodes) / NODES_A_REQUIREMENT) / REQUIREMENTS_A_LOOK)
    for weight, term in pod_class.preferred:
        total += weight * any_term([term], trial.nodes)
    return total


def coupled(_pod_class: PodClass, _trial: Trial) -> bool:
    """Return False: pods do not change labels of nodes."""
    return False


def one_by_one(pod_class: PodClass, trial: Trial) -> Steady:
    """Return the same scores for each pod."""
    return Steady(score(pod_class, trial))
