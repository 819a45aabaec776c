"""Of the nodes that would do, those first that the members prefer."""

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.pods import Ask
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial

BEST = 100


def fill(ask: Ask, slots: IntArray, count: int, trial: Trial, profile: Profile) -> Share:
    """Return the most preferred nodes, and of equal ones those that the profile fills first.

    `slots` must hold at least `count` in all.
    """
    found = scores(ask, slots, trial, profile)
    if found is None:
        return profile.fill(ask, slots, count, trial)
    shares = []
    for score in np.unique(found[slots > 0])[::-1]:
        here = np.where(found == score, slots, 0)
        number = min(count, int(here.clip(max=count).sum()))
        shares.append(profile.fill(ask, here, number, trial))
        count -= number
        if not count:
            break
    rows = np.concatenate([share.rows for share in shares])
    return Share(ask, rows, np.concatenate([share.counts for share in shares]))


def rank(ask: Ask, slots: IntArray, trial: Trial, profile: Profile) -> IntArray:
    """Return the rows with slots, the most preferred first, and of equal ones as the profile."""
    rows = profile.rank(ask, slots, trial)
    found = scores(ask, slots, trial, profile)
    return rows if found is None else rows[np.argsort(-found[rows], kind="stable")]


def matters(ask: Ask, trial: Trial, profile: Profile) -> bool:
    """Tell whether the class may prefer any node to another."""
    return any(preference.concerns(ask, trial) for _, preference in profile.preferences)


def scores(ask: Ask, slots: IntArray, trial: Trial, profile: Profile) -> IntArray | None:
    """Return how much each node is preferred; None where that makes no difference.

    Each preference is scaled to the nodes with slots, and weighs what the profile says.
    """
    concerned = [each for each in profile.preferences if each[1].concerns(ask, trial)]
    candidates = slots > 0
    if not concerned or not candidates.any():
        return None
    total = np.zeros(len(slots), dtype=np.int64)
    for weight, preference in concerned:
        raw = preference.score(ask, trial)
        low, high = int(raw[candidates].min()), int(raw[candidates].max())
        if high > low:
            total += weight * ((raw - low) * BEST // (high - low))
    return total if np.ptp(total[candidates]) else None
