"""Many victims: cheap ones first, in closures.

Where gangs go whole, taking one often frees no slot at all until its neighbours on the same nodes
go too. So what is weighed is a closure: all that must go to clear one more slot on some node, with
every other member of those gangs, and how many slots that clears elsewhere for nothing.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.model.tenants import Tenant
from gang_scheduler.scheduler.preemption.slots import Slots
from gang_scheduler.scheduler.preemption.tolls import Cost, Tolls, Victims

SCALE: Final = 1_000_000
Key = tuple[int, ...]


class Closures:
    """Takes closures until there are slots enough, the one that costs least a slot first."""

    def __init__(
        self, tolls: Tolls, pool: Iterable[Tenant], slots: Slots, rows: dict[str, int]
    ) -> None:
        """Only tenants of the pool are taken, and the gangs that they take along."""
        self._tolls = tolls
        self._slots = slots
        self._rows = rows
        self._on_row: dict[int, list[Tenant]] = {}
        for each in pool:
            row = rows.get(each.pod.node)
            if row is not None:
                self._on_row.setdefault(row, []).append(each)
        for tenants in self._on_row.values():
            tenants.sort(key=self._cheapness)
        self.victims: Victims = {}
        self._tally = tolls.tally()
        self._version = dict.fromkeys(self._on_row, 0)
        self._heap: list[tuple[Key, int, int]] = []

    def take(self, needed: int) -> bool:
        """Let closures go until there are so many slots; False if there never are."""
        if not self._heap:
            for row in self._on_row:
                self._weigh(row, needed)
        while self._slots.total < needed:
            if not self._heap:
                return False
            _, row, version = heapq.heappop(self._heap)
            if version != self._version[row]:
                continue
            closure = self._closure(row)
            if closure:
                self._let_go(closure, needed)
        return True

    def _let_go(self, closure: Victims, needed: int) -> None:
        self._slots.evict(closure.values())
        self._tally.add(closure)
        self.victims |= closure
        gangs = {each.gang for each in closure.values()}
        concerned = {each.pod.node for gang in gangs for each in self._tolls.members(gang)}
        rows = {self._rows[node] for node in concerned if node in self._rows}
        for row in rows & self._on_row.keys():
            self._version[row] += 1
            self._weigh(row, needed)

    def _weigh(self, row: int, needed: int) -> None:
        closure = self._closure(row)
        if not closure:
            return
        gain = min(self._slots.gain(closure.values()), needed - self._slots.total)
        if gain > 0:
            key = _a_slot(self._tally.cost, self._tally.with_more(closure), gain)
            heapq.heappush(self._heap, ((*key, row), row, self._version[row]))

    def _closure(self, row: int) -> Victims:
        """Return whom it takes to clear one more slot on a node; nobody, if it cannot be."""
        taken: Victims = {}
        numbers: Counter[GangKey] = Counter()
        freed = self._slots.nothing
        for each in self._on_row[row]:
            if each.pod.uid in self.victims or each.pod.uid in taken:
                continue
            more = self._taken_along(each, taken, numbers)
            taken.update((other.pod.uid, other) for other in more)
            numbers.update(other.gang for other in more)
            freed = freed + self._freed_on(row, more)
            if more and self._slots.clears(row, freed):
                return self._spared(row, taken, freed)
        return {}

    def _freed_on(self, row: int, tenants: Iterable[Tenant]) -> IntArray:
        """Return what these use on one node."""
        used = self._slots.nothing
        for each in tenants:
            if self._rows.get(each.pod.node) == row:
                used = used + self._slots.used(each)
        return used

    def _taken_along(
        self, tenant: Tenant, taken: Victims, numbers: Mapping[GangKey, int]
    ) -> list[Tenant]:
        """Return who goes with a tenant: nobody else while its gang has members to spare."""
        gang = tenant.gang
        if self._tally.numbers[gang] + numbers.get(gang, 0) < self._tolls.surplus(gang):
            return [tenant]
        if not self._tolls.may_break(gang):
            return []
        return [
            each
            for each in self._tolls.members(gang)
            if each.pod.uid not in self.victims and each.pod.uid not in taken
        ]

    def _spared(self, row: int, taken: Victims, freed: IntArray) -> Victims:
        """Put back whom it does not take after all."""
        by_gang: dict[GangKey, list[Tenant]] = {}
        for each in taken.values():
            by_gang.setdefault(each.gang, []).append(each)
        for each in self._tolls.most_valuable_first(taken):
            gang = by_gang[each.gang]
            whole = self._tally.numbers[each.gang] + len(gang) > self._tolls.surplus(each.gang)
            loss = gang if whole else [each]
            less = freed - self._freed_on(row, loss)
            if len(loss) < len(taken) and self._slots.clears(row, less):
                freed = less
                for other in loss:
                    taken.pop(other.pod.uid, None)
                by_gang[each.gang] = [] if whole else [left for left in gang if left is not each]
        return taken

    def _cheapness(self, tenant: Tenant) -> tuple[Cost, str]:
        return self._tolls.cost_of(tenant), tenant.pod.uid


def _a_slot(before: Cost, after: Cost, gain: int) -> Key:
    """Return what a slot costs more, as integers, in the order of costs."""
    return (
        (after.over_budget - before.over_budget) * SCALE // gain,
        after.highest_priority,
        (after.broken - before.broken) * SCALE // gain,
        (after.touched - before.touched) * SCALE // gain,
        (after.lost_work - before.lost_work) * SCALE // gain,
        (after.pods - before.pods) * SCALE // gain,
    )
