"""Nodes with taints of effect PreferNoSchedule come last, unless the pod tolerates them.

Semantics of kube-scheduler's TaintToleration.
"""

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.filters import taints
from gang_scheduler.scheduler.policies import Steady
from gang_scheduler.scheduler.trial import Trial

SOFT = frozenset({"PreferNoSchedule"})


def concerns(_pod_class: PodClass, trial: Trial) -> bool:
    """Return whether any node has a taint of effect PreferNoSchedule."""
    return bool(taints.columns_of(trial.nodes, SOFT).taints)


def score(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the number of taints that are not tolerated, as a negative number."""
    return -taints.numbers_untolerated(pod_class, trial.nodes, SOFT)


def coupled(_pod_class: PodClass, _trial: Trial) -> bool:
    """Return False: pods do not change taints."""
    return False


def one_by_one(pod_class: PodClass, trial: Trial) -> Steady:
    """Return the same scores for each pod."""
    return Steady(score(pod_class, trial))
