"""Fullest nodes first, so that whole nodes stay free for gangs that need them."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import utilization
from gang_scheduler.scheduler.trial import Share, Trial


def rank(pod_class: PodClass, slots: IntArray, trial: Trial) -> IntArray:
    """Return the nodes with slots, the fullest with one more pod first."""
    candidates = np.flatnonzero(slots)
    fullest = np.argsort(-utilization.use_with(1, pod_class, candidates, trial), kind="stable")
    return candidates[fullest]


def fill(pod_class: PodClass, slots: IntArray, count: int, trial: Trial) -> Share:
    """Return the nodes that are fullest with one more pod, each filled before the next.

    A node's score only grows as it fills, so filling it up is what placing pod by pod would do.
    `slots` must hold at least `count` in all. Ties go to the first node in order of names.
    """
    ordered = _first(count, pod_class, slots, trial)
    wanted = np.minimum(slots[ordered], count)
    together = np.cumsum(wanted)
    last = int(np.searchsorted(together, count))
    counts = wanted[: last + 1]
    counts[last] -= together[last] - count
    return Share(pod_class, ordered[: last + 1], counts)


def _first(count: int, pod_class: PodClass, slots: IntArray, trial: Trial) -> IntArray:
    """Return the first rows of the rank, as many as there are pods; no other row is sorted."""
    candidates = np.flatnonzero(slots)
    number = len(candidates)
    # Fullest first, then by name. All keys differ, so an unstable sort is exact.
    keys = np.arange(number) - utilization.use_with(1, pod_class, candidates, trial) * number
    first = np.argpartition(keys, count - 1)[:count] if count < number else np.arange(number)
    return candidates[first[np.argsort(keys[first])]]
