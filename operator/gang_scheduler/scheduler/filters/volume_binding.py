"""Claims that are bound together with their pod must find a reachable volume, or a new one.

Semantics of kube-scheduler's VolumeBinding for claims of WaitForFirstConsumer. Every volume is
chosen once, also among the members of one gang. Pods that share a claim which is not bound yet stay
where its volume will be.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import Need
from gang_scheduler.scheduler.filters import bound_volumes
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = bound_volumes.obstacle

NONE_LEFT = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has unbound claims."""
    return bool(_needs(pod_class))


def coupled(pod_class: PodClass, trial: Trial) -> bool:
    """Return whether a member on one node takes volumes that other nodes also reach."""
    needs = _needs(pod_class)
    if any(need.claim for need in needs):
        return True
    return bool(needs) and trial.volumes.choices.overlap(needs)


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return for each node how many pods of the class find volumes there.

    That is, if pods on other nodes take none of these volumes.
    """
    room = trial.volumes.choices.room(_needs(pod_class))
    trial.effort.count(trial.volumes.choices.looks())
    return room


def at_once(_pod_class: PodClass, _trial: Trial) -> Caps | None:
    """Return None: place one pod at a time, because it may take a volume the next pod needs."""
    return None


def one_by_one(_pod_class: PodClass, _trial: Trial) -> None:
    """Return None: the free volumes must be looked up again after each pod."""


def most_slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the slots as an upper bound: earlier pods can only take volumes away."""
    return slots(pod_class, trial)


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes that only lack space for a new volume, and the other nodes."""
    choices, needs = trial.volumes.choices, _needs(pod_class)
    rows = np.flatnonzero(rejected).tolist()
    return Counter(NO_SPACE if choices.lacks_space(needs, row) else NONE_LEFT for row in rows)


def _needs(pod_class: PodClass) -> tuple[Need, ...]:
    return pod_class.storage.needs if pod_class.storage is not None else ()
