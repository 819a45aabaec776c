"""Emptiest nodes first."""

import heapq

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import scoring
from gang_scheduler.scheduler.trial import Share, Trial


def fill_order(more: int, pod_class: PodClass, rows: IntArray, trial: Trial) -> IntArray:
    """Return a sort key for each node; the node that is emptiest with `more` pods has the least."""
    use = scoring.use_with(more, pod_class, rows, trial)
    return scoring.later(pod_class, rows, trial) + use


def fill(pod_class: PodClass, slots: IntArray, count: int, trial: Trial) -> Share:
    """Place pods on the emptiest nodes; the node is chosen again for every pod.

    `slots` must hold at least `count` pods in all. Among nodes with equal scores, the node that
    later pods need least comes first (`scoring.order`).
    """
    candidates = np.flatnonzero(slots)
    ties = scoring.order(pod_class, candidates, trial).tolist()
    first = fill_order(1, pod_class, candidates, trial).tolist()
    heap = list(zip(first, ties, range(len(candidates)), strict=True))
    heapq.heapify(heap)
    counts = np.zeros(len(candidates), dtype=np.int64)
    for _ in range(count):
        _, tie, chosen = heap[0]
        counts[chosen] += 1
        if counts[chosen] < slots[candidates[chosen]]:
            row = candidates[chosen : chosen + 1]
            use = int(fill_order(int(counts[chosen]) + 1, pod_class, row, trial)[0])
            heapq.heapreplace(heap, (use, tie, chosen))
        else:
            heapq.heappop(heap)
    return Share(pod_class, candidates[counts > 0], counts[counts > 0])
