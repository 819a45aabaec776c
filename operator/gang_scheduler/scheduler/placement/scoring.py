"""Scores of feasible nodes by preferences: preferred nodes come first."""

from collections.abc import Iterable

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.placement import fragments
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial

BEST = 100


def fill(pod_class: PodClass, slots: IntArray, count: int, trial: Trial, profile: Profile) -> Share:
    """Return the nodes with the best scores; ties go to the nodes that the profile fills first.

    `slots` must hold at least `count` in all.
    """
    found = scores(pod_class, slots, trial, profile)
    if found is None:
        return profile.fill(pod_class, slots, count, trial)
    shares = []
    for score in np.unique(found[slots > 0])[::-1]:
        here = np.where(found == score, slots, 0)
        number = min(count, int(here.clip(max=count).sum()))
        shares.append(profile.fill(pod_class, here, number, trial))
        count -= number
        if not count:
            break
    rows = np.concatenate([share.rows for share in shares])
    return Share(pod_class, rows, np.concatenate([share.counts for share in shares]))


def rank(pod_class: PodClass, slots: IntArray, trial: Trial, profile: Profile) -> IntArray:
    """Return the rows with slots, the best score first; ties in the order of the profile."""
    candidates = np.flatnonzero(slots)
    turns = profile.turn(1, pod_class, candidates, trial)
    ties = fragments.order(pod_class, candidates, trial)
    rows = candidates[np.lexsort((ties, turns))]
    found = scores(pod_class, slots, trial, profile)
    return rows if found is None else rows[np.argsort(-found[rows], kind="stable")]


def matters(pod_class: PodClass, trial: Trial, profile: Profile) -> bool:
    """Return whether the class may prefer any node to another one."""
    return any(preference.concerns(pod_class, trial) for _, preference in profile.preferences)


def scores(pod_class: PodClass, slots: IntArray, trial: Trial, profile: Profile) -> IntArray | None:
    """Return the score of each node; None if all nodes with slots score the same.

    Each preference is scaled to 0..100 over the nodes with slots and weighted by the profile, as in
    kube-scheduler.
    """
    concerned = [each for each in profile.preferences if each[1].concerns(pod_class, trial)]
    candidates = slots > 0
    if not concerned or not candidates.any():
        return None
    raw = [(weight, preference.score(pod_class, trial)) for weight, preference in concerned]
    total = weighed(raw, candidates)
    return total if np.ptp(total[candidates]) else None


def weighed(scores: Iterable[tuple[int, IntArray]], candidates: BoolArray) -> IntArray:
    """Return the sum of weighted scores, each scaled over the candidates, of which there are some.

    What it says of other nodes means nothing.
    """
    total = np.zeros(len(candidates), dtype=np.int64)
    for weight, raw in scores:
        among = raw[candidates]
        low, high = int(among.min()), int(among.max())
        if high > low:
            total += weight * ((raw - low) * BEST // (high - low))
    return total
