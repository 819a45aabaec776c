"""How full a node is: the integer measure that binpack and spread share."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.resources import PODS
from gang_scheduler.scheduler.trial import Trial

THOUSAND = 1000


def use_with(more: int, pod_class: PodClass, rows: IntArray, trial: Trial) -> IntArray:
    """Return the use in thousandths with `more` pods, summed over the resources they request.

    `rows` are all different and ascend. The number of pods counts only if no other resource is
    requested: a node is full when its CPUs or GPUs are gone, not when it runs many small pods.
    """
    use = np.zeros(len(rows), dtype=np.int64)
    # A slice of all rows is much faster than picking every row.
    chosen = rows if len(rows) < len(trial.nodes) else slice(None)
    for column, amount in _columns(pod_class, trial):
        allocatable = trial.nodes.allocatable[chosen, column]
        wanted = allocatable - trial.free[chosen, column] + more * amount
        # Integers, so that equal nodes tie on every machine.
        use += wanted * THOUSAND // np.maximum(allocatable, 1)
    return use


def _columns(pod_class: PodClass, trial: Trial) -> list[tuple[int, int]]:
    """Return the columns of the resources that count, and how much of each is requested."""
    axis = trial.nodes.axis
    asked = [(name, amount) for name, amount in pod_class.requests if amount > 0 and name in axis]
    chosen = [each for each in asked if each[0] != PODS] or asked
    return [(axis[name], amount) for name, amount in chosen]
