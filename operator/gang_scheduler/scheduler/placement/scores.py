"""How full a node is: the integer measure that binpack and spread share."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.trial import Trial

THOUSAND = 1000


def use_with_one_more(ask: Ask, rows: IntArray, trial: Trial) -> IntArray:
    """Return the use in thousandths, summed over what the pod asks for, with one more pod on it.

    The number of pods counts only where nothing else is asked for: a node is full when its
    CPUs or GPUs are gone, not when it runs many small pods.
    """
    columns = _columns(ask, trial)
    used = trial.nodes.allocatable[np.ix_(rows, columns)] - trial.free[np.ix_(rows, columns)]
    return _share(used, rows, columns, trial) + use_of_one(ask, rows, trial)


def use_of_one(ask: Ask, rows: IntArray, trial: Trial) -> IntArray:
    """Return what one pod adds to that use, on each row."""
    columns = _columns(ask, trial)
    vector = trial.nodes.vector(ask.requests)[columns]
    return _share(np.broadcast_to(vector, (len(rows), len(columns))), rows, columns, trial)


def _share(amounts: IntArray, rows: IntArray, columns: IntArray, trial: Trial) -> IntArray:
    capacity = np.maximum(trial.nodes.allocatable[np.ix_(rows, columns)], 1)
    # Integers, so that equal nodes tie on every machine.
    total: IntArray = (amounts * THOUSAND // capacity).sum(axis=1)
    return total


def _columns(ask: Ask, trial: Trial) -> IntArray:
    axis = trial.nodes.axis
    asked = [name for name, amount in ask.requests if amount > 0 and name in axis]
    chosen = [name for name in asked if name != PODS] or asked
    return np.array([axis[name] for name in chosen], dtype=np.int64)
