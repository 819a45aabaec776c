"""A ReadWriteOncePod claim takes one pod; a writable disk takes one pod on each node.

Semantics of kube-scheduler's VolumeRestrictions. Disks are volumes that pods name directly (GCE,
EBS, iSCSI, RBD). Members of one gang see each other's claims and disks.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import Storage
from gang_scheduler.scheduler.filters import bound_volumes
from gang_scheduler.scheduler.label_domains import Caps
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = bound_volumes.obstacle

DISK = "node(s) had no available disk"
SOLE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already "
    "in-use by another pod"
)
NONE = Storage()


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class uses a ReadWriteOncePod claim, or names disks."""
    return pod_class.storage is not None and bool(pod_class.storage.sole or pod_class.storage.disks)


def coupled(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether members share a ReadWriteOncePod claim: only one of them gets a node."""
    return pod_class.storage is not None and bool(pod_class.storage.sole)


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return 1 where claims and disks are free, else 0; no limit if disks are only read."""
    storage = pod_class.storage or NONE
    if any(trial.volumes.in_use(claim) for claim in storage.sole):
        return np.zeros(len(trial.nodes), dtype=np.int64)
    alone = storage.sole or any(disk.conflicts(disk) for disk in storage.disks)
    room = np.full(len(trial.nodes), 1 if alone else UNLIMITED, dtype=np.int64)
    room[_conflicts(storage, trial)] = 0
    return room


def at_once(_pod_class: PodClass, _trial: Trial) -> Caps | None:
    """Return None: place one pod at a time, because it may use a claim the next pod needs."""
    return None


def one_by_one(_pod_class: PodClass, _trial: Trial) -> None:
    """Return None: the claims and disks in use must be looked up again after each pod."""


def most_slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return the slots as an upper bound: earlier pods can only take more."""
    return slots(pod_class, trial)


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes with a conflict over disks; on all other nodes the claim is in use."""
    by_disk = int((rejected & _conflicts(pod_class.storage or NONE, trial)).sum())
    return +Counter({DISK: by_disk, SOLE: int(rejected.sum()) - by_disk})


def _conflicts(storage: Storage, trial: Trial) -> BoolArray:
    found = np.zeros(len(trial.nodes), dtype=np.bool_)
    if storage.disks:
        for row, used in trial.volumes.disks():
            found[row] |= any(disk.conflicts(used) for disk in storage.disks)
    return found
