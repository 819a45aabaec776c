"""Topology spread constraints that need not hold: domains with fewer pods come first.

After kube-scheduler's PodTopologySpread; its weights by the number of domains are not in it.
"""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pod_affinity import Spread
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler import label_domains
from gang_scheduler.scheduler.trial import Trial


def concerns(ask: Ask, _trial: Trial) -> bool:
    """Tell whether the class has such a constraint."""
    return bool(_soft(ask))


def score(ask: Ask, trial: Trial) -> IntArray:
    """Return the pods that are there already as a negative number; without the key, one more."""
    total = np.zeros(len(trial.nodes), dtype=np.int64)
    for each in _soft(ask):
        column = trial.nodes.label(each.key)
        found = label_domains.in_domain(column, trial.pod_affinity.present(each.selector))
        total -= np.where(label_domains.has(column), found, found.max(initial=0) + 1)
    return total


def coupled(ask: Ask, _trial: Trial) -> bool:
    """Tell whether the members of the class count for each other."""
    return any(each.selector in ask.selected_by for each in _soft(ask))


def _soft(ask: Ask) -> list[Spread]:
    return (
        [each for each in ask.pod_affinity.spread if not each.hard]
        if ask.pod_affinity is not None
        else []
    )
