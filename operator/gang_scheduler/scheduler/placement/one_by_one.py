"""Pods of one class that change what nodes offer to the next one, placed one by one.

Offering the nodes anew to each pod costs all filters on all nodes. Here only what a pod changes is
brought up to date, in a few vector operations.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import UNLIMITED, BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import feasible_slots, fragments, scoring
from gang_scheduler.scheduler.policies import Profile, ScoresOneByOne
from gang_scheduler.scheduler.trial import Share, Trial

NODES_A_LOOK: Final = 5_000
"""Beside so many nodes a pod is placed for one look."""


def place(
    pod_class: PodClass, number: int, rows: BoolArray | None, trial: Trial, profile: Profile
) -> Share | None:
    """Return room for so many pods, or for as many as fit. The trial stays as it is.

    `rows` are the nodes where pods may be; None is all. None where nodes must be offered anew
    after each pod.
    """
    found = feasible_slots.one_by_one(pod_class, trial, profile)
    if found is None:
        return None
    left, filters = found
    left = left.copy() if rows is None else np.where(rows, left, 0)
    preferences = [
        (weight, preference.one_by_one(pod_class, trial))
        for weight, preference in profile.preferences
        if preference.concerns(pod_class, trial)
    ]
    everywhere = np.arange(len(left))
    # As many parts of a turn as nodes: within one they come by what a place costs others.
    ties = np.argsort(np.argsort(fragments.order(pod_class, everywhere, trial)))
    turns = profile.turn(1, pod_class, everywhere, trial) * len(left) + ties
    counts = np.zeros_like(left)
    for _ in range(number):
        open_ = left > 0
        for each in filters:
            open_ &= each.open()
        row = _first(open_, turns, preferences)
        if row is None:
            break
        counts[row] += 1
        left[row] -= 1
        here = everywhere[row : row + 1]
        turn = int(profile.turn(int(counts[row]) + 1, pod_class, here, trial)[0])
        turns[row] = turn * len(left) + ties[row]
        for each in filters:
            each.placed(row)
        for _, preference in preferences:
            preference.placed(row)
    taken = np.flatnonzero(counts)
    trial.effort.spend(int(counts.sum()) * (1 + len(left) // NODES_A_LOOK))
    return Share(pod_class, taken, counts[taken])


def _first(
    open_: BoolArray, turns: IntArray, preferences: Sequence[tuple[int, ScoresOneByOne]]
) -> int | None:
    """Return the node whose turn it is among those of the best score; None if none is open."""
    if preferences and open_.any():
        raw = [(weight, preference.score()) for weight, preference in preferences]
        total = scoring.weighed(raw, open_)
        open_ &= total == total.max(where=open_, initial=-UNLIMITED)
    row = int(np.where(open_, turns, UNLIMITED).argmin())
    return row if open_[row] else None
