"""Many victims: cheap ones first, in eviction sets.

Where whole gangs are evicted, one gang often frees no slot until its neighbours on the same nodes
are evicted, too. So the search compares the costs of eviction sets: the units to evict for one more
slot on some node, with every other member of their gangs, and the slots that this frees on other
nodes.
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
from gang_scheduler.scheduler.preemption.preemptor import Slots
from gang_scheduler.scheduler.preemption.victim_costs import Cost, Tally, Victims

SCALE: Final = 1_000_000
WEIGHINGS_A_LOOK: Final = 4
"""The number of weighings that cost one look of the present search."""
LOOKS_A_WEIGHING: Final = 3
"""The cost of weighing a node, in looks."""
LOOKS_A_POD: Final = 0.5
"""The cost of looking at one pod of a node, in looks."""
LOOKS_IN_ORDER: Final = 2
"""The cost of weighing and sorting one pod of a node, in looks."""
ENTRIES_A_LOOK: Final = 500
"""Counting through this many nodes and pods takes as long as one look."""
MOST_WORK: Final = 2**63 // SCALE - 1
"""The most pod-seconds that count when nodes are sorted."""
NOTHING: Final = Cost()
Key = tuple[Any, ...]


class EvictionSets:
    """Evicts eviction sets until there are enough slots, the cheapest set per slot first."""

    def __init__(
        self, potential: PotentialVictims, slots: Slots, pool: Pool, among: BoolArray
    ) -> None:
        """Choose among bound pods that the pool considers, and gangs that are evicted with them.

        The mask `among` has either all bound pods of a node, or none of them.
        """
        self._potential = potential
        self._costs = potential.costs
        self._slots = slots
        self._effort = slots.effort
        self._weighings = 0
        self._pool = pool
        self._tally = self._costs.tally()
        self._heap: list[tuple[Key, int, int]] = []
        self._alike: dict[tuple[EvictionUnit, ...], Weighed] = {}
        self.victims: Victims = {}
        self.chosen: list[Sequence[EvictionUnit]] = []
        """The eviction sets that were evicted, one after another."""
        # Nodes are left out if even all pods of the pool free no slot there.
        most = slots.with_more(potential.freed(potential.may_leave_with(pool, among)))
        self._gains: IntArray = (most - slots.slots).clip(min=0)
        self._version = dict.fromkeys(np.flatnonzero(self._gains).tolist(), 0)
        self._untouched: _Untouched | None = None
        self._effort.count((len(among) + len(most)) / ENTRIES_A_LOOK)

    def choose(self, needed: int, question: Hashable = None) -> bool:
        """Evict eviction sets until there are this many slots; False if even all are too few.

        False, too, if the search takes far too long: one eviction of a gang with members on many
        nodes changes the costs of all of these. The eviction sets that are weighed before the first
        is evicted are kept in the potential victims, as an answer to the `question`.
        """
        if self._slots.total < needed:
            self._begin(needed, question)
        while self._slots.total < needed:
            self._offer_untouched()
            if not self._heap or (self.victims and not self._effort.may_work_on(2)):
                return False
            _, row, version = heapq.heappop(self._heap)
            if version != self._version[row]:
                continue
            eviction_set = self._eviction_set(row)
            if eviction_set:
                self._let_go(eviction_set, needed)
        return True

    def _begin(self, needed: int, question: Hashable) -> None:
        """Offer all nodes, unless some nodes offered before are left."""
        self._offer_untouched()
        if self._heap:
            return
        if self.victims:
            self._untouched = None
            for row in self._version:
                self._offer(row, self._weighed(row), needed)
            return
        known = self._potential.weighed(question, self._slots.free)
        lacking = needed - self._slots.total
        self._untouched = _Untouched(self._potential, self._slots, self._gains, lacking, known)

    def _offer_untouched(self) -> None:
        """Offer untouched nodes until no other untouched node can cost less than the first."""
        untouched = self._untouched
        while untouched is not None and untouched.rows_left:
            row = untouched.next_row
            if self._heap and self._heap[0][0] < untouched.bound:
                return
            untouched.rows_left -= 1
            if self._version[row]:
                continue
            weighed = untouched.known.get(row)
            if weighed is None:
                self._count_weighing()
                weighed = self._weigh(row, untouched.slots, untouched.tally, untouched.alike)
                untouched.known[row] = weighed
            self._push(row, weighed, untouched.tally.cost, untouched.lacking)

    def _let_go(self, eviction_set: Sequence[EvictionUnit], needed: int) -> None:
        if self._untouched is not None:
            self._untouched.keep_slots()
        self._slots.evict(eviction_set)
        self._tally.add(eviction_set)
        self._alike.clear()
        self.victims.update(
            (each.pod.uid, each) for unit in eviction_set for each in unit.bound_pods
        )
        self.chosen.append(eviction_set)
        members = (each for unit in eviction_set for each in self._costs.members(unit.gang))
        rows = {self._slots.nodes.rows.get(each.pod.node, NOWHERE) for each in members}
        for row in rows & self._version.keys():
            self._version[row] += 1
            self._offer(row, self._weighed(row), needed)

    def _offer(self, row: int, weighed: Weighed, needed: int) -> None:
        self._push(row, weighed, self._tally.cost, needed - self._slots.total)

    def _push(self, row: int, weighed: Weighed, before: Cost, lacking: int) -> None:
        gain = min(weighed.gain, lacking)
        if gain > 0:
            key = _a_slot(before, weighed.cost, gain)
            heapq.heappush(self._heap, ((*key, row), row, self._version[row]))

    def _weighed(self, row: int) -> Weighed:
        """Return the cost and the gain of the eviction set that clears one more slot on a node."""
        self._count_weighing()
        return self._weigh(row, self._slots, self._tally, self._alike)

    def _count_weighing(self) -> None:
        self._effort.count(LOOKS_A_WEIGHING)
        self._weighings += 1
        if self._weighings % WEIGHINGS_A_LOOK == 0:
            self._effort.spend(1)

    def _weigh(
        self,
        row: int,
        slots: Slots,
        tally: Tally,
        alike: dict[tuple[EvictionUnit, ...], Weighed],
    ) -> Weighed:
        eviction_set = tuple(self._eviction_set(row))
        if not eviction_set:
            return Weighed(0, tally.cost, frozenset([row]))
        # Gangs that share one node often share other nodes.
        if eviction_set not in alike:
            rows = (unit.usage(self._slots.nodes).on_row for unit in eviction_set)
            alike[eviction_set] = Weighed(
                gain=slots.gain(eviction_set),
                cost=tally.with_more(eviction_set),
                rows=frozenset[int]().union(*rows),
            )
        return alike[eviction_set]

    def _eviction_set(self, row: int) -> list[EvictionUnit]:
        """Return the units to evict for one more slot on a node; empty if no units make one."""
        taken: list[EvictionUnit] = []
        uids: set[str] = set()
        freed = self._slots.nothing
        before = self._potential.put_in_order
        there = self._potential.on_row(row, self._pool)
        ordered = self._potential.put_in_order - before
        self._effort.count(len(there) * LOOKS_A_POD + ordered * LOOKS_IN_ORDER)
        for each in there:
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
        """Return the resources that an eviction unit frees on one node."""
        return unit.usage(self._slots.nodes).on_row.get(row, self._slots.nothing)

    def _taken_along(
        self, bound_pod: BoundPod, taken: Sequence[EvictionUnit], uids: AbstractSet[str]
    ) -> EvictionUnit | None:
        """Return a bound pod as a unit: only the pod while its gang has surplus, else the gang.

        None if the gang may not be evicted.
        """
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
        """Return a bound pod with the steps that are evicted before it, or else with its gang."""
        surplus = self._costs.evicted_along(bound_pod)
        if surplus is None and not self._costs.may_break(bound_pod.gang):
            return None
        members = self._costs.members(bound_pod.gang) if surplus is None else surplus
        gone = uids | self.victims.keys()
        return self._costs.unit([each for each in members if each.pod.uid not in gone])

    def _spared(self, row: int, taken: list[EvictionUnit], freed: IntArray) -> list[EvictionUnit]:
        """Put units back that are not needed to clear the slot."""
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


class _Untouched:
    """The nodes as they are before the first eviction, the possibly cheapest ones first.

    `known` are the weighings of these nodes, and `rows_left` is the number of nodes that are not
    offered yet. `slots` and `tally` describe the state before the first eviction, when `lacking`
    slots were missing.
    """

    def __init__(
        self,
        potential: PotentialVictims,
        slots: Slots,
        at_best: IntArray,
        lacking: int,
        known: dict[int, Weighed],
    ) -> None:
        self.known = known
        self.lacking = lacking
        self.slots = slots
        self.tally = potential.costs.tally()
        self.alike: dict[tuple[EvictionUnit, ...], Weighed] = {}
        self._is_copy = False
        rows, costs = np.flatnonzero(at_best), potential.least_costs
        needed = slots.needed_for_one_more(rows)
        least = costs.least(rows, needed, potential.remaining)
        gains = costs.most_gained(rows, slots.request, needed, at_best).clip(1, lacking)
        a_slot = [each.clip(max=MOST_WORK) * SCALE // gains for each in least[1:]]
        over, *others = a_slot
        columns = (over, least.priorities, *others, rows)
        last = np.lexsort(columns[::-1])[::-1]
        self._lines = list(zip(*(each[last].tolist() for each in columns), strict=True))
        self.rows_left = len(rows)

    @property
    def next_row(self) -> int:
        """The row that comes next."""
        return int(self._lines[self.rows_left - 1][-1])

    @property
    def bound(self) -> Key:
        """The least cost of a slot on the next node, and on all nodes after it."""
        over, priority, broken, work, pods, row = self._lines[self.rows_left - 1]
        none = NOTHING
        return (
            *(over, none.highest_class, priority, none.least_share),
            *(broken, broken, none.unprotected, work, pods, row),
        )

    def keep_slots(self) -> None:
        """Keep a copy of the slots, since some are about to change."""
        if not self._is_copy:
            self.slots, self._is_copy = self.slots.copy(), True


def _a_slot(before: Cost, after: Cost, gain: int) -> Key:
    """Return the cost per slot as integers, in the order of `Cost`."""
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
