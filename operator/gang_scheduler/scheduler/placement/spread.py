"""Emptiest nodes first."""

import heapq

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.placement import scores
from gang_scheduler.scheduler.trial import Share, Trial


def fill(ask: Ask, slots: IntArray, count: int, trial: Trial) -> Share:
    """Return the nodes that are emptiest with one more pod, chosen anew for every pod.

    `slots` must hold at least `count` in all. Ties go to the first node in order of names.
    """
    candidates = np.flatnonzero(slots)
    use = scores.use_with_one_more(ask, candidates, trial)
    step = scores.use_of_one(ask, candidates, trial)
    heap = list(zip(use.tolist(), range(len(candidates)), strict=True))
    heapq.heapify(heap)
    counts = np.zeros(len(candidates), dtype=np.int64)
    for _ in range(count):
        score, chosen = heap[0]
        counts[chosen] += 1
        if counts[chosen] < slots[candidates[chosen]]:
            heapq.heapreplace(heap, (score + int(step[chosen]), chosen))
        else:
            heapq.heappop(heap)
    return Share(ask, candidates[counts > 0], counts[counts > 0])
