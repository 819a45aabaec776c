"""The requests of a pod must fit the free resources of a node.

Semantics of kube-scheduler's NodeResourcesFit: a resource that the pod does not request is ignored.
For example, a pod without a memory request fits on a node whose memory is over-committed.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = Obstacle(
    "RESOURCES", "is too full for the pod", "are too full for the pod", is_room=True
)


def concerns(_pod_class: PodClass, _trial: Trial) -> bool:
    """Return True: every pod takes at least one of the node's `pods`."""
    return True


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return how many pods of this class fit on each node. One vector operation per resource."""
    room = np.full(len(trial.nodes), UNLIMITED, dtype=np.int64)
    for name, amount in pod_class.requests:
        if amount > 0:
            # Each pod takes one of `pods`; the division is the costly part, so it is skipped for 1.
            free = trial.free_of(name)
            np.minimum(room, free if amount == 1 else free // amount, out=room)
    return np.maximum(room, 0, out=room)


def reasons(pod_class: PodClass, trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Count the nodes for each missing resource; a node that lacks two counts for both."""
    counts: Counter[str] = Counter()
    for name, amount in pod_class.requests:
        short = amount > 0 and trial.free_of(name)[rejected] < amount
        lacking = int(np.count_nonzero(short))
        if lacking:
            counts["Too many pods" if name == PODS else f"Insufficient {name}"] = lacking
    return counts
