"""Many victims: cheap ones first, in eviction sets.

Where whole gangs are evicted, one gang often frees no slot until its neighbours on the same nodes
are evicted, too. So costs are compared of eviction sets: the units to evict for one more slot on
some node, with every other member of their gangs, and the slots that this frees on other nodes.
"""

import heapq
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import EvictionUnit
from gang_scheduler.scheduler.preemption.potential_victims import (
    NOWHERE,
    Pool,
    PotentialVictims,
    Weighed,
)
from gang_scheduler.scheduler.preemption.slots import Slots
from gang_scheduler.scheduler.preemption.tally import Cost
from gang_scheduler.scheduler.preemption.victim_costs import Victims

SCALE: Final = 1_000_000
WEIGHINGS_A_LOOK: Final = 4
Key = tuple[Any, ...]


class EvictionSets:
    """Evicts eviction sets until there are slots enough, the one that costs least a slot first."""

    def __init__(
        self, potential: PotentialVictims, slots: Slots, pool: Pool, among: BoolArray
    ) -> None:
        """Choose bound pods of the pool, `among` these, and the gangs that must go with them.

        `among` has either all bound pods of a node, or none of them.
        """
        self._potential = potential
        self._costs = potential.costs
        self._slots = slots
        self._effort = slots.effort
        self._weighings = 0
        self._pool = pool
        # Nodes where not even all of the pool free one more slot are left out.
        most = slots.without(potential.shares(potential.may_leave_with(pool, among)))
        self._version = dict.fromkeys(np.flatnonzero(most > slots.slots).tolist(), 0)
        self._tally = self._costs.tally()
        self._heap: list[tuple[Key, int, int]] = []
        self._alike: dict[tuple[EvictionUnit, ...], Weighed] = {}
        self.victims: Victims = {}

    def choose(self, needed: int, question: Hashable = None) -> bool:
        """Evict eviction sets until there are so many slots; False if there never are.

        The eviction sets that are weighed before the first is evicted are kept in the potential
        victims, as an answer to the `question`.
        """
        if not self._heap:
            known = {} if self.victims else self._potential.weighed(question, self._slots.free)
            for row in self._version:
                if row not in known:
                    known[row] = self._weighed(row)
                self._offer(row, known[row], needed)
        while self._slots.total < needed:
            if not self._heap:
                return False
            _, row, version = heapq.heappop(self._heap)
            if version != self._version[row]:
                continue
            eviction_set = self._eviction_set(row)
            if eviction_set:
                self._let_go(eviction_set, needed)
        return True

    def _let_go(self, eviction_set: Sequence[EvictionUnit], needed: int) -> None:
        self._slots.evict(eviction_set)
        self._tally.add(eviction_set)
        self._alike.clear()
        self.victims.update(
            (each.pod.uid, each) for unit in eviction_set for each in unit.bound_pods
        )
        members = (each for unit in eviction_set for each in self._costs.members(unit.gang))
        rows = {self._slots.nodes.rows.get(each.pod.node, NOWHERE) for each in members}
        for row in rows & self._version.keys():
            self._version[row] += 1
            self._offer(row, self._weighed(row), needed)

    def _offer(self, row: int, weighed: Weighed, needed: int) -> None:
        gain = min(weighed.gain, needed - self._slots.total)
        if gain > 0:
            key = _a_slot(self._tally.cost, weighed.cost, gain)
            heapq.heappush(self._heap, ((*key, row), row, self._version[row]))

    def _weighed(self, row: int) -> Weighed:
        """Return the cost and the gain of the eviction set that clears one more slot on a node."""
        self._weighings += 1
        if self._weighings % WEIGHINGS_A_LOOK == 0:
            self._effort.spend(1)
        eviction_set = tuple(self._eviction_set(row))
        if not eviction_set:
            return Weighed(0, self._tally.cost, frozenset([row]))
        # Gangs that share one node often share others.
        if eviction_set not in self._alike:
            rows = (unit.usage(self._slots.nodes).on_row for unit in eviction_set)
            self._alike[eviction_set] = Weighed(
                gain=self._slots.gain(eviction_set),
                cost=self._tally.with_more(eviction_set),
                rows=frozenset[int]().union(*rows),
            )
        return self._alike[eviction_set]

    def _eviction_set(self, row: int) -> list[EvictionUnit]:
        """Return the units to evict for one more slot on a node; empty if there is no such set."""
        taken: list[EvictionUnit] = []
        uids: set[str] = set()
        freed = self._slots.nothing
        for each in self._potential.on_row(row, self._pool):
            if each.pod.uid in self.victims or each.pod.uid in uids:
                continue
            unit = self._taken_along(each, taken, uids)
            if unit is not None:
                taken.append(unit)
                uids |= unit.uids
                freed = freed + self._freed_on(row, unit)
                if self._slots.clears(row, freed):
                    return self._spared(row, taken, freed)
        return []

    def _freed_on(self, row: int, unit: EvictionUnit) -> IntArray:
        """Return what an eviction unit frees on one node."""
        return unit.usage(self._slots.nodes).on_row.get(row, self._slots.nothing)

    def _taken_along(
        self, bound_pod: BoundPod, taken: Sequence[EvictionUnit], uids: AbstractSet[str]
    ) -> EvictionUnit | None:
        """Return a bound pod as a unit: alone while its gang has surplus, else with its gang."""
        gang, portion = bound_pod.gang, self._costs.portion(bound_pod)
        if gang in self._costs.steps:
            return self._with_steps(bound_pod, uids)
        surplus = self._costs.surplus(portion)
        if surplus:
            number = self._tally.numbers[portion] + sum(e.numbers.get(portion, 0) for e in taken)
            if number < surplus:
                return self._costs.unit_of(bound_pod)
        if not self._costs.may_break(gang):
            return None
        if not surplus and not self._costs.has_surplus(gang):
            return self._costs.unit_of(bound_pod)
        gone = uids | self.victims.keys()
        return self._costs.unit([e for e in self._costs.members(gang) if e.pod.uid not in gone])

    def _with_steps(self, bound_pod: BoundPod, uids: AbstractSet[str]) -> EvictionUnit | None:
        """Return a bound pod with the steps that must go before it, or else with its gang."""
        surplus = self._costs.goes_with(bound_pod)
        if surplus is None and not self._costs.may_break(bound_pod.gang):
            return None
        members = self._costs.members(bound_pod.gang) if surplus is None else surplus
        gone = uids | self.victims.keys()
        return self._costs.unit([each for each in members if each.pod.uid not in gone])

    def _spared(self, row: int, taken: list[EvictionUnit], freed: IntArray) -> list[EvictionUnit]:
        """Put back the units without which the slot is still cleared."""
        if len(taken) == 1:
            return taken
        apart = self._costs.most_valuable_first(taken, self._tally.numbers)
        left = list(apart)
        kept: set[GangKey] = set()
        for unit in apart:
            if unit.gang in kept:
                continue
            less = freed - self._freed_on(row, unit)
            if len(left) > 1 and self._slots.clears(row, less):
                freed = less
                left.remove(unit)
            elif unit.gang in self._costs.steps:
                kept.add(unit.gang)
        return left


def _a_slot(before: Cost, after: Cost, gain: int) -> Key:
    """Return how much more a slot costs, as integers, in the order of `Cost`."""
    return (
        (after.over_budget - before.over_budget) * SCALE // gain,
        after.highest_class,
        after.highest_priority,
        after.least_share,
        (after.broken - before.broken) * SCALE // gain,
        (after.touched - before.touched) * SCALE // gain,
        (after.unprotected - before.unprotected) * SCALE // gain,
        (after.lost_work - before.lost_work) * SCALE // gain,
        (after.pods - before.pods) * SCALE // gain,
    )
