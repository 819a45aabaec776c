"""Fullest nodes first, so that whole nodes stay free for gangs that need them."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.placement import scores
from gang_scheduler.scheduler.trial import Share, Trial


def rank(ask: Ask, slots: IntArray, trial: Trial) -> IntArray:
    """Return the nodes with slots, those first that are fullest with one more pod."""
    candidates = np.flatnonzero(slots)
    fullest = np.argsort(-scores.use_with(1, ask, candidates, trial), kind="stable")
    return candidates[fullest]


def fill(ask: Ask, slots: IntArray, count: int, trial: Trial) -> Share:
    """Return the nodes that are fullest with one more pod, each filled before the next.

    A node's score only grows as it fills, so filling it up is what placing pod by pod would do.
    `slots` must hold at least `count` in all. Ties go to the first node in order of names.
    """
    ordered = rank(ask, slots, trial)
    before = np.cumsum(slots[ordered].clip(max=count)) - slots[ordered].clip(max=count)
    taken = ordered[before < count]
    counts = np.minimum(slots[taken], count - before[before < count])
    return Share(ask, taken, counts)
