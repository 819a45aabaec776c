"""A node takes a limited number of volumes of each CSI driver, and none of an absent driver.

Semantics of kube-scheduler's NodeVolumeLimits. A volume counts once per node. A volume that will be
created counts as a new one, and an attachment counts until it is gone. In-tree volumes do not count
for the CSI driver that has taken them over.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.volumes import PRIVATE
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = Obstacle(
    "ATTACHMENTS",
    "cannot attach the pod's volumes",
    "cannot attach the pod's volumes",
    is_quoted=True,
)


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class has volumes that are counted on any node."""
    return pod_class.storage is not None and bool(pod_class.storage.attached)


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return how many pods of this class each node has volume attachments for."""
    room = np.full(len(trial.nodes), UNLIMITED, dtype=np.int64)
    for driver, handles in _by_driver(pod_class).items():
        room = np.minimum(room, _slots(driver, handles, trial))
        room[~trial.volumes.attachments.installed(driver)] = 0
    return room


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes without a needed driver, by driver; other nodes are at their limit."""
    counts: Counter[str] = Counter()
    for driver in _by_driver(pod_class):
        lacking = rejected & ~trial.volumes.attachments.installed(driver)
        counts[f"{driver} CSI driver is not installed on the node"] += int(lacking.sum())
        rejected = rejected & ~lacking
    counts["node(s) exceed max volume count"] = int(rejected.sum())
    return +counts


def _by_driver(pod_class: PodClass) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for driver, handle in pod_class.storage.attached if pod_class.storage is not None else ():
        found.setdefault(driver, []).append(handle)
    return found


def _slots(driver: str, handles: list[str], trial: Trial) -> IntArray:
    attachments = trial.volumes.attachments
    own = handles.count(PRIVATE)
    shared = np.zeros(len(trial.nodes), dtype=np.int64)
    for handle in handles:
        if handle != PRIVATE:
            shared += ~attachments.present(driver, handle)
    limit = attachments.limit(driver, UNLIMITED)
    left = limit - attachments.used(driver) - shared
    fits = np.where(left >= own, left // own if own else UNLIMITED, 0)
    # A pod that adds no volume passes even if the limit is exceeded already.
    return np.where((limit == UNLIMITED) | (shared + own == 0), UNLIMITED, fits)
