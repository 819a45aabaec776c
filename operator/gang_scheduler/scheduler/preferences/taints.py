"""Nodes with taints of effect PreferNoSchedule come last, unless the pod tolerates them.

Semantics of kube-scheduler's TaintToleration.
"""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.filters import taints
from gang_scheduler.scheduler.policies import Steady
from gang_scheduler.scheduler.trial import Trial

SOFT = "PreferNoSchedule"


def concerns(_pod_class: PodClass, trial: Trial) -> bool:
    """Return whether any node has such a taint."""
    _, sets = trial.nodes.taint_sets()
    return any(taint.effect == SOFT for each in sets for taint in each)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the number of taints that are not tolerated, as a negative number."""
    codes, sets = trial.nodes.taint_sets()
    soft = [[taint for taint in each if taint.effect == SOFT] for each in sets]
    unwanted = [
        sum(not taints.tolerated(pod_class.tolerations, taint) for taint in each) for each in soft
    ]
    return -np.array(unwanted, dtype=np.int64)[codes]


def coupled(_pod_class: PodClass, _trial: Trial) -> bool:
    """Pods do not change taints."""
    return False


def one_by_one(pod_class: PodClass, trial: Trial) -> Steady:
    """Return the same scores for each pod."""
    return Steady(score(pod_class, trial))
