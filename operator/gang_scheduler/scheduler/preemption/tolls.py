"""What an eviction costs, and whom it takes along.

A gang that would fall under its minMember goes whole, and is counted whole: who is left of it would
only burn the GPUs that it holds. The surplus of an elastic gang can go by itself.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.tenants import Tenant, Tenants

NOBODY = -(2**31)
"""A priority below all."""

Victims = dict[str, Tenant]
"""Tenants by the uid of the pod."""


class Cost(NamedTuple):
    """What a set of victims costs; compared in this order, less is better.

    `over_budget` are pods beyond what PodDisruptionBudgets allow. A gang of one that goes is
    `broken`, too. `lost_work` is in pod-seconds.
    """

    over_budget: int = 0
    highest_priority: int = NOBODY
    broken: int = 0
    touched: int = 0
    lost_work: int = 0
    pods: int = 0


class Tolls:
    """Whom a preemptor of a certain priority may evict, and at what cost."""

    def __init__(self, tenants: Tenants, below: int, now: int) -> None:
        """Only pods of a priority less than or equal to `below` may go; `now` is in seconds."""
        self._tenants = tenants
        self._now = now
        self.placed: list[Tenant] = []
        self._rows: IntArray | None = None
        low = [each for each in tenants.tenants if _may_go(each, below)]
        # Of gangs with nobody who may go, nobody asks.
        self._gangs: dict[GangKey, list[Tenant]] = {each.gang: [] for each in low}
        for each in tenants.tenants:
            if each.gang in self._gangs and not each.pod.deleting:
                self._gangs[each.gang].append(each)
        self._lost: dict[GangKey, bool] = {
            gang: all(_may_go(each, below) for each in members)
            for gang, members in self._gangs.items()
        }
        self._highest = {gang: max(map(_price, members)) for gang, members in self._gangs.items()}
        self._alone: dict[GangKey | str, Cost] = {}
        self.evictable = [
            each for each in low if self._lost[each.gang] or self.surplus(each.gang) > 0
        ]

    def rows_in(self, nodes: NodeTable) -> IntArray:
        """Return the rows of those in `placed`, which are the evictable on nodes that exist."""
        if self._rows is None:
            self.placed = [each for each in self.evictable if each.pod.node in nodes.rows]
            rows = [nodes.rows[each.pod.node] for each in self.placed]
            self._rows = np.array(rows, dtype=np.int64)
        return self._rows

    def surplus(self, gang: GangKey) -> int:
        """Return how many members a gang can lose and be none the worse."""
        return self._tenants.surplus.get(gang, 0)

    def members(self, gang: GangKey) -> list[Tenant]:
        """Return the tenants of a gang that are not leaving already."""
        return self._gangs.get(gang, [])

    def may_break(self, gang: GangKey) -> bool:
        """Tell whether a gang may go whole."""
        return self._lost.get(gang, False)

    def priority(self, tenant: Tenant) -> int:
        """Return the highest priority that goes with this pod, if its gang goes with it."""
        if self.surplus(tenant.gang):
            return _price(tenant)
        return self._highest[tenant.gang]

    def with_gangs(self, victims: Victims) -> Victims | None:
        """Return all who must go where these do; None if somebody of them may not."""
        closed = dict(victims)
        for gang, number in Counter(each.gang for each in victims.values()).items():
            if number <= self.surplus(gang):
                continue
            if not self._lost[gang]:
                return None
            closed.update((each.pod.uid, each) for each in self._gangs[gang])
        return closed

    def cost_of(self, tenant: Tenant) -> Cost:
        """Return what it costs if one goes, with its gang where that must go whole."""
        key = tenant.pod.uid if self.surplus(tenant.gang) else tenant.gang
        if key not in self._alone:
            self._alone[key] = self.cost(self.with_gangs({tenant.pod.uid: tenant}) or {})
        return self._alone[key]

    def without(self, victims: Victims, spared: Tenant) -> Victims:
        """Return the victims less one loss: the pod alone, or its whole gang."""
        number = sum(each.gang == spared.gang for each in victims.values())
        if number > self.surplus(spared.gang):
            return {uid: each for uid, each in victims.items() if each.gang != spared.gang}
        return {uid: each for uid, each in victims.items() if uid != spared.pod.uid}

    def cost(self, victims: Mapping[str, Tenant]) -> Cost:
        """Return what it costs. Who is marked as a victim already costs nothing any more."""
        return self.tally().with_more(victims)

    def tally(self) -> "Tally":
        """Return the running cost of a set that grows."""
        return Tally(self._tenants.allowed, self.surplus, self._lost_work)

    def most_valuable_first(self, victims: Mapping[str, Tenant]) -> list[Tenant]:
        """Return a tenant for each loss: protected by a budget, then by priority, size and age."""
        numbers = Counter(each.gang for each in victims.values())
        losses: dict[GangKey | str, Tenant] = {}
        for each in victims.values():
            broken = numbers[each.gang] > self.surplus(each.gang)
            losses.setdefault(each.gang if broken else each.pod.uid, each)
        return sorted(losses.values(), key=self._value)

    def _value(self, tenant: Tenant) -> tuple[bool, bool, int, int, int, str]:
        pod = tenant.pod
        size = len(self._gangs[tenant.gang])
        return pod.marked, not tenant.budgets, -pod.priority, -size, pod.started_at, pod.uid

    def _lost_work(self, tenant: Tenant) -> int:
        return max(0, self._now - tenant.pod.started_at) if tenant.pod.started_at else 0


def _may_go(tenant: Tenant, below: int) -> bool:
    pod = tenant.pod
    return tenant.evictable and pod.priority <= below and not pod.deleting


def _price(tenant: Tenant) -> int:
    """Return the priority that counts: who is marked as a victim already costs nothing."""
    return NOBODY if tenant.pod.marked else tenant.pod.priority


class Tally:
    """What a growing set of victims costs, and what it would cost with more.

    `numbers` are how many of each gang are in it.
    """

    def __init__(
        self,
        allowed: Mapping[str, int],
        surplus: Callable[[GangKey], int],
        lost_work: Callable[[Tenant], int],
    ) -> None:
        self.cost = Cost()
        self.numbers: Counter[GangKey] = Counter()
        self._allowed = allowed
        self._surplus = surplus
        self._lost_work = lost_work
        self._going: Counter[GangKey] = Counter()
        self._covered: Counter[str] = Counter()

    def add(self, victims: Mapping[str, Tenant]) -> None:
        """Let the set grow by victims that are not in it."""
        self.cost = self.with_more(victims)
        self.numbers.update(each.gang for each in victims.values())
        going = [each for each in victims.values() if not each.pod.marked]
        self._going.update(each.gang for each in going)
        self._covered.update(budget for each in going for budget in each.budgets)

    def with_more(self, victims: Mapping[str, Tenant]) -> Cost:
        """Return the cost of the set and these."""
        going = [each for each in victims.values() if not each.pod.marked]
        numbers = Counter(each.gang for each in victims.values())
        more = Counter(each.gang for each in going)
        covered = Counter(budget for each in going for budget in each.budgets)
        now = self.cost
        return Cost(
            over_budget=now.over_budget
            + sum(self._over(each, n) - self._over(each, 0) for each, n in covered.items()),
            highest_priority=max([now.highest_priority, *(each.pod.priority for each in going)]),
            broken=now.broken
            + sum(
                self._is_broken(gang, n, more[gang]) - self._is_broken(gang, 0, 0)
                for gang, n in numbers.items()
            ),
            touched=now.touched + sum(not self._going[gang] for gang in more),
            lost_work=now.lost_work + sum(self._lost_work(each) for each in going),
            pods=now.pods + len(going),
        )

    def _over(self, budget: str, more: int) -> int:
        return max(0, self._covered[budget] + more - self._allowed.get(budget, 0))

    def _is_broken(self, gang: GangKey, more: int, going: int) -> bool:
        counts = self._going[gang] + going > 0
        return counts and self.numbers[gang] + more > self._surplus(gang)
