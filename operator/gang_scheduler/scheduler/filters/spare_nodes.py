"""Nodes that are kept spare are rejected, except for members that replace lost ones."""

from collections import Counter
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.plan import Obstacle
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.trial import Trial

obstacle: Final = Obstacle("SPARE", "is kept as spare", "are kept as spare")


def concerns(_pod_class: PodClass, trial: Trial) -> bool:
    """Return whether nodes are kept spare from the members placed now."""
    return trial.closed is not None


def slots(_pod_class: PodClass, trial: Trial) -> IntArray:
    """Return 0 for the spare nodes, and no limit elsewhere."""
    closed = np.zeros(len(trial.nodes), dtype=np.bool_) if trial.closed is None else trial.closed
    return np.where(closed, 0, UNLIMITED)


def reasons(_pod_class: PodClass, _trial: Trial, rejected: BoolArray) -> Counter[str]:
    """Give one reason for all nodes."""
    return Counter({"node(s) were kept as spare": int(rejected.sum())})
