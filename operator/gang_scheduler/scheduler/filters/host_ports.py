"""A port of the host can be claimed by one pod on each node.

Semantics of kube-scheduler's NodePorts; members of one gang see each other's ports.
"""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = Obstacle(
    "HOST_PORTS", "has the pod's host ports in use", "have the pod's host ports in use"
)
ROWS_A_LOOK: Final = 1_000
"""Looking at so many nodes on which a port is taken takes as long as one look."""


def concerns(pod_class: PodClass, _trial: Trial) -> bool:
    """Return whether the class claims a port of the host."""
    return bool(pod_class.host_ports)


def slots(pod_class: PodClass, trial: Trial) -> IntArray:
    """Return 1 where all ports are free, and 0 where one is taken."""
    room, looked_at = np.ones(len(trial.nodes), dtype=np.int64), 0
    for port in pod_class.host_ports:
        rows = [*trial.ports.rows(port)]
        room[rows] = 0
        looked_at += len(rows)
    trial.effort.count(looked_at / ROWS_A_LOOK)
    return room


def reasons(_pod_class: PodClass, _trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    words = "node(s) didn't have free ports for the requested pod ports"
    return Counter({words: int(rejected.sum())})
