"""Emptiest nodes first."""

import heapq

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import utilization
from gang_scheduler.scheduler.trial import Share, Trial


def rank(pod_class: PodClass, slots: IntArray, trial: Trial) -> IntArray:
    """Return the nodes with slots, the emptiest with one more pod first."""
    candidates = np.flatnonzero(slots)
    emptiest = np.argsort(utilization.use_with(1, pod_class, candidates, trial), kind="stable")
    return candidates[emptiest]


def fill(pod_class: PodClass, slots: IntArray, count: int, trial: Trial) -> Share:
    """Return the nodes that are emptiest with one more pod, chosen anew for every pod.

    `slots` must hold at least `count` in all. Ties go to the first node in order of names.
    """
    candidates = np.flatnonzero(slots)
    first = utilization.use_with(1, pod_class, candidates, trial).tolist()
    heap = list(zip(first, range(len(candidates)), strict=True))
    heapq.heapify(heap)
    counts = np.zeros(len(candidates), dtype=np.int64)
    for _ in range(count):
        _, chosen = heap[0]
        counts[chosen] += 1
        if counts[chosen] < slots[candidates[chosen]]:
            row = candidates[chosen : chosen + 1]
            use = int(utilization.use_with(int(counts[chosen]) + 1, pod_class, row, trial)[0])
            heapq.heapreplace(heap, (use, chosen))
        else:
            heapq.heappop(heap)
    return Share(pod_class, candidates[counts > 0], counts[counts > 0])
