"""Victims that need not be evicted: they fit on the nodes together with the placed members."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import usage_of
from gang_scheduler.scheduler.preemption.victim_costs import VictimCosts, Victims
from gang_scheduler.scheduler.trial import Placement, Trial

NONE: Final[AbstractSet[str]] = frozenset()


def without_reprieved(
    placements: Iterable[Placement],
    victims: Victims,
    costs: VictimCosts,
    trial: Trial,
    *,
    leaving: AbstractSet[str] = NONE,
) -> Victims:
    """Return the victims without the most valuable ones that fit beside the members.

    Only requests count. Pods whose uids are in `leaving` are never put back. The trial holds none
    of the placements, and all victims are still on it.
    """
    nodes, left = trial.nodes, trial.free.copy()
    units = costs.units(victims)
    rows, used = usage_of(units, nodes)
    left[rows] += used
    taken = np.zeros(len(nodes), dtype=np.bool_)
    for share in (share for placement in placements for share in placement.shares):
        left[share.rows] -= share.counts[:, np.newaxis] * nodes.vector(share.pod_class.requests)
        taken[share.rows] = True
    # A node may already have had negative room; this concerns no member elsewhere.
    left[~taken] = np.iinfo(np.int64).max
    spared: set[str] = set()
    kept: set[GangKey] = set()
    for unit in costs.most_valuable_first(units):
        usage = unit.usage(nodes)
        if unit.gang in kept:
            continue
        if unit.uids.isdisjoint(leaving) and (left[usage.rows] >= usage.used).all():
            left[usage.rows] -= usage.used
            spared |= unit.uids
        elif unit.gang in costs.steps:
            # A step stays only if all steps that go after it stay.
            kept.add(unit.gang)
    return {uid: each for uid, each in victims.items() if uid not in spared}
