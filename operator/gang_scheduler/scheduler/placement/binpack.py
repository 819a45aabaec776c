"""Fullest nodes first, so that whole nodes stay free for gangs that need them."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import scoring
from gang_scheduler.scheduler.trial import Share, Trial


def fill_order(more: int, pod_class: PodClass, rows: IntArray, trial: Trial) -> IntArray:
    """Return a sort key for each node; the node that is fullest with `more` pods has the least."""
    use = scoring.use_with(more, pod_class, rows, trial)
    return scoring.later(pod_class, rows, trial) - use


def fill(pod_class: PodClass, slots: IntArray, count: int, trial: Trial) -> Share:
    """Place pods on the fullest nodes, and fill each node before the next one.

    Filling a node up gives the same result as placing pod by pod, since a node's score only grows
    as it fills. `slots` must hold at least `count` pods in all. Among nodes with equal scores, the
    node that later pods need least comes first (`scoring.order`).
    """
    ordered = _first(count, pod_class, slots, trial)
    wanted = np.minimum(slots[ordered], count)
    together = np.cumsum(wanted)
    last = int(np.searchsorted(together, count))
    counts = wanted[: last + 1]
    counts[last] -= together[last] - count
    return Share(pod_class, ordered[: last + 1], counts)


def _first(count: int, pod_class: PodClass, slots: IntArray, trial: Trial) -> IntArray:
    """Return the rows of the first `count` nodes, in order, without sorting the other nodes."""
    candidates = np.flatnonzero(slots)
    keys = fill_order(1, pod_class, candidates, trial)
    if count < len(candidates):
        # Nodes with the last key that is needed: the ties below decide which of them come first.
        among = keys <= np.partition(keys, count - 1)[count - 1]
        candidates, keys = candidates[among], keys[among]
    ties = scoring.order(pod_class, candidates, trial)
    if count < len(candidates):
        last = keys.max()
        left = count - int((keys < last).sum())
        first = (keys < last) | (ties <= np.partition(ties[keys == last], left - 1)[left - 1])
        candidates, keys, ties = candidates[first], keys[first], ties[first]
    return candidates[np.lexsort((ties, keys))]
