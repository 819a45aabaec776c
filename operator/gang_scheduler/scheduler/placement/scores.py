"""How full a node is: the integer measure that binpack and spread share."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.trial import Trial

THOUSAND = 1000


def use_with(more: int, ask: Ask, rows: IntArray, trial: Trial) -> IntArray:
    """Return the use in thousandths, summed over what the pod asks for, with `more` pods on it.

    The number of pods counts only where nothing else is asked for: a node is full when its
    CPUs or GPUs are gone, not when it runs many small pods.
    """
    columns = _columns(ask, trial)
    allocatable = trial.nodes.allocatable[np.ix_(rows, columns)]
    used = allocatable - trial.free[np.ix_(rows, columns)]
    wanted = used + more * trial.nodes.vector(ask.requests)[columns]
    # Integers, so that equal nodes tie on every machine.
    use: IntArray = (wanted * THOUSAND // np.maximum(allocatable, 1)).sum(axis=1)
    return use


def _columns(ask: Ask, trial: Trial) -> IntArray:
    axis = trial.nodes.axis
    asked = [name for name, amount in ask.requests if amount > 0 and name in axis]
    chosen = [name for name in asked if name != PODS] or asked
    return np.array([axis[name] for name in chosen], dtype=np.int64)
