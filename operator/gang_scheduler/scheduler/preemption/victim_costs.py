"""What an eviction costs, and which pods are evicted along with a pod.

A gang that would fall below its minMember is evicted as a whole, and costs as a whole: the members
left of it would only hold GPUs without progress. Surplus of an elastic gang is evicted by itself.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import (
    NO_SHARE,
    NO_STANDING,
    NOBODY,
    EvictionUnit,
    Overlap,
    ShareRank,
    Standing,
    by_gang,
    of_surplus,
    work_of,
)

Victims = dict[str, BoundPod]
"""Bound pods by the uid of the pod."""
NONE: Mapping[GangKey, int] = {}
NO_STANDINGS: Mapping[GangKey, Standing] = {}


class Cost(NamedTuple):
    """What a set of victims costs; compared in this order, less is better.

    `over_budget` are pods beyond what PodDisruptionBudgets allow, each counted once. The evictions
    that a budget allows go to the pods under the fewest budgets, then to those with the smallest
    uids. As in kube-scheduler, a pod is beyond if any of its budgets allows no more evictions; it
    counts for its other budgets all the same, so one victim more never makes another one cheaper.
    `broken` are gangs that fall below their minMember (a gang of one, too), `touched` gangs that
    lose any member. `unprotected` are pods of Jobs that evictions could end for good. That comes
    before `lost_work`, in pod-seconds: such a Job loses all of its work, however long it ran.

    Only queues make a difference in the others: `highest_class` by which a victim goes,
    `least_share` that a queue of victims borrows, and `ties`, which decide between sets that are
    allowed and cost the same. Bounds have no ties.
    """

    over_budget: int = 0
    highest_class: int = 0
    highest_priority: int = NOBODY
    least_share: ShareRank = NO_SHARE
    broken: int = 0
    touched: int = 0
    unprotected: int = 0
    lost_work: int = 0
    pods: int = 0
    ties: tuple[Any, ...] = ()


class VictimCosts:
    """The pods that preemptors of a certain priority may evict, and at what cost.

    Kept for all of a cycle: the victims of one preemptor have left for the next one.
    """

    def __init__(
        self,
        bound_pods: BoundPods,
        below: int,
        now: int,
        standings: Mapping[GangKey, Standing] = NO_STANDINGS,
    ) -> None:
        """Only pods of at most the priority `below` may be evicted; `now` is in seconds.

        `standings` are how gangs compare where there are queues.
        """
        self._below = below
        self._standings = standings
        self._now = now
        self._surplus = dict(bound_pods.surplus)
        self._allowed = dict(bound_pods.allowed)
        low = [each for each in bound_pods.pods if _may_go(each, below)]
        # Gangs without an evictable pod are never asked about.
        self._gangs: dict[GangKey, list[BoundPod]] = {each.gang: [] for each in low}
        for each in bound_pods.pods:
            if each.gang in self._gangs and not each.pod.deleting:
                self._gangs[each.gang].append(each)
        self._lost: dict[GangKey, bool] = {}
        self._highest: dict[GangKey, int] = {}
        for gang in self._gangs:
            self._weigh(gang)
        self._units: dict[GangKey | str, EvictionUnit] = {}
        self._alone: dict[GangKey | str, Cost] = {}
        self.evictable = [each for each in low if self.may_go(each)]
        """The pods that could be evicted at first."""

    @property
    def has_standings(self) -> bool:
        """Whether there are queues."""
        return bool(self._standings)

    def leave(self, victims: Collection[BoundPod]) -> None:
        """Note that victims have left, with all members of their gangs that must go with them."""
        gone = {each.pod.uid for each in victims}
        for gang, number in Counter(each.gang for each in victims).items():
            left = [each for each in self.members(gang) if each.pod.uid not in gone]
            self._surplus[gang] = max(0, self.surplus(gang) - number)
            self._gangs[gang] = left
            self._weigh(gang)
            self._units.pop(gang, None)
            self._alone.pop(gang, None)
        used = Counter(budget for each in victims for budget in each.budgets)
        for budget in used.keys() & self._allowed.keys():
            self._allowed[budget] = max(0, self._allowed[budget] - used[budget])
        if used:
            self._alone.clear()

    def surplus(self, gang: GangKey) -> int:
        """Return how many members a gang can lose without falling below its minMember."""
        return self._surplus.get(gang, 0)

    def members(self, gang: GangKey) -> list[BoundPod]:
        """Return the bound pods of a gang that are not leaving already."""
        return self._gangs.get(gang, [])

    def may_break(self, gang: GangKey) -> bool:
        """Return whether a gang may be evicted as a whole."""
        return self._lost.get(gang, False)

    def may_go(self, bound_pod: BoundPod) -> bool:
        """Return whether an evictable pod can be evicted now, alone or with its gang."""
        return self._lost[bound_pod.gang] or self.surplus(bound_pod.gang) > 0

    def priority(self, bound_pod: BoundPod) -> int:
        """Return the highest priority that is evicted with a pod: its own, or that of its gang."""
        if self.surplus(bound_pod.gang):
            return NOBODY if self._standings else _price(bound_pod)
        return self._highest[bound_pod.gang]

    def work(self, bound_pod: BoundPod) -> int:
        """Return the run time that is lost with a pod, in pod-seconds."""
        standing = self._standings.get(bound_pod.gang, NO_STANDING)
        return work_of(bound_pod.pod, self._now, standing.saved_at)

    def is_beyond(self, bound_pod: BoundPod) -> bool:
        """Return whether a budget allows no eviction of a pod, whatever the other victims are."""
        exhausted = (self._allowed.get(each, 0) <= 0 for each in bound_pod.budgets)
        return not bound_pod.pod.marked and any(exhausted)

    def with_gangs(self, victims: Victims) -> Victims | None:
        """Return victims with all pods that must go with them; None if any of these must stay."""
        closed = dict(victims)
        for gang, number in Counter(each.gang for each in victims.values()).items():
            if number <= self.surplus(gang):
                continue
            if not self._lost[gang]:
                return None
            closed.update((each.pod.uid, each) for each in self._gangs[gang])
        return closed

    def unit_of(self, bound_pod: BoundPod) -> EvictionUnit:
        """Return a bound pod as a unit: alone while its gang has surplus, else with its gang."""
        elastic = self.surplus(bound_pod.gang) > 0
        key = bound_pod.pod.uid if elastic else bound_pod.gang
        if key not in self._units:
            self._units[key] = self.unit([bound_pod] if elastic else self._gangs[bound_pod.gang])
        return self._units[key]

    def unit(self, bound_pods: Collection[BoundPod]) -> EvictionUnit:
        """Return bound pods of one gang as one eviction unit."""
        if not self._standings:
            return EvictionUnit(tuple(bound_pods), self._now)
        first = next(iter(bound_pods))
        unit = EvictionUnit(tuple(bound_pods), self._now, self._standings[first.gang])
        return of_surplus(unit) if len(unit) <= self.surplus(first.gang) else unit

    def cost_of(self, bound_pod: BoundPod) -> Cost:
        """Return the cost of a pod, with its gang if the gang must be evicted as a whole."""
        key = bound_pod.pod.uid if self.surplus(bound_pod.gang) else bound_pod.gang
        if key not in self._alone:
            self._alone[key] = self.tally().with_more([self.unit_of(bound_pod)])
        return self._alone[key]

    def units(self, victims: Mapping[str, BoundPod]) -> list[EvictionUnit]:
        """Return victims as an eviction unit for each gang."""
        return [self.unit(each) for each in by_gang(victims.values()).values()]

    def cost(self, victims: Mapping[str, BoundPod]) -> Cost:
        """Return the cost of victims. A pod that is marked as a victim already costs nothing."""
        return self.tally().with_more(self.units(victims))

    def tally(self) -> "Tally":
        """Return the running cost of a set that grows."""
        return Tally(self._allowed, self.surplus)

    def most_valuable_first(
        self, units: Iterable[EvictionUnit], gone: Mapping[GangKey, int] = NONE
    ) -> list[EvictionUnit]:
        """Return units split into parts that can be spared apart, the most valuable first.

        Ordered by budget, priority, whether evictions could end a Job, size of the gang and age.
        `gone` are further victims by gang.
        """
        groups: dict[GangKey, list[EvictionUnit]] = {}
        for each in units:
            groups.setdefault(each.gang, []).append(each)
        apart: list[EvictionUnit] = []
        for gang, some in groups.items():
            broken = gone.get(gang, 0) + sum(map(len, some)) > self.surplus(gang)
            if broken and len(some) == 1:
                apart += some
                continue
            bound_pods = [each for unit in some for each in unit.bound_pods]
            apart += (
                [self.unit(bound_pods)] if broken else [self.unit([each]) for each in bound_pods]
            )
        return sorted(apart, key=self._value)

    def _weigh(self, gang: GangKey) -> None:
        members = self._gangs[gang]
        self._lost[gang] = all(_may_go(each, self._below) for each in members)
        self._highest[gang] = max(map(_price, members), default=NOBODY)

    def _value(self, unit: EvictionUnit) -> tuple[bool, bool, int, bool, int, int, str]:
        bound_pod = unit.bound_pods[0]
        pod = bound_pod.pod
        size = len(self._gangs[bound_pod.gang])
        return (
            pod.marked,
            not bound_pod.budgets,
            -bound_pod.priority,
            not unit.unprotected,
            -size,
            pod.started_at,
            pod.uid,
        )


def _may_go(bound_pod: BoundPod, below: int) -> bool:
    pod = bound_pod.pod
    return bound_pod.evictable and bound_pod.priority <= below and not pod.deleting


def _price(bound_pod: BoundPod) -> int:
    """Return the priority that counts: a pod that is marked as a victim already costs nothing."""
    return NOBODY if bound_pod.pod.marked else bound_pod.priority


class Tally:
    """What a growing set of victims costs, and what it would cost with more.

    `numbers` are the victims of each gang in the set.
    """

    def __init__(self, allowed: Mapping[str, int], surplus: Callable[[GangKey], int]) -> None:
        self.cost = Cost()
        self.numbers: Counter[GangKey] = Counter()
        self._allowed = allowed
        self._surplus = surplus
        self._going: Counter[GangKey] = Counter()
        self._covered: Counter[str] = Counter()
        self._overlapping: tuple[Overlap, ...] = ()

    def add(self, more: Collection[EvictionUnit]) -> None:
        """Add eviction units that are not in the set."""
        self.cost = self.with_more(more)
        for each in more:
            self.numbers[each.gang] += len(each)
            self._going[each.gang] += each.going
            self._covered.update(each.covered)
            self._overlapping += each.overlapping

    def with_more(self, more: Collection[EvictionUnit]) -> Cost:
        """Return the cost of the set with more units."""
        now = self.cost
        numbers: dict[GangKey, int] = {}
        going: dict[GangKey, int] = {}
        for each in more:
            numbers[each.gang] = numbers.get(each.gang, 0) + len(each)
            going[each.gang] = going.get(each.gang, 0) + each.going
        return Cost(
            over_budget=self._over_budget(more),
            highest_class=max([now.highest_class, *(e.lowest_class for e in more)]),
            highest_priority=max([now.highest_priority, *(e.highest_priority for e in more)]),
            least_share=max([now.least_share, *(e.share for e in more)]),
            broken=now.broken
            + sum(self._breaks(gang, number, going[gang]) for gang, number in numbers.items()),
            touched=now.touched + sum(n > 0 and not self._going[gang] for gang, n in going.items()),
            unprotected=now.unprotected + sum(each.unprotected for each in more),
            lost_work=now.lost_work + sum(each.lost_work for each in more),
            pods=now.pods + sum(going.values()),
        )

    def _over_budget(self, more: Collection[EvictionUnit]) -> int:
        """Return how many pods of the set with more units are beyond a budget."""
        under_budget = [each for each in more if each.covered or each.overlapping]
        if not under_budget:
            return self.cost.over_budget
        covered = self._covered.copy()
        overlapping = self._overlapping
        for each in under_budget:
            covered.update(each.covered)
            overlapping += each.overlapping
        over = sum(max(0, n - self._allowed.get(budget, 0)) for budget, n in covered.items())
        for pod in sorted(overlapping):
            covered.update(pod.budgets)
            over += any(covered[each] > self._allowed.get(each, 0) for each in pod.budgets)
        return over

    def _breaks(self, gang: GangKey, more: int, going: int) -> int:
        """Return 1 if so many more victims break a gang that was not broken, else 0."""
        return self._is_broken(gang, more, going) - self._is_broken(gang, 0, 0)

    def _is_broken(self, gang: GangKey, more: int, going: int) -> bool:
        counts = self._going.get(gang, 0) + going > 0
        return counts and self.numbers.get(gang, 0) + more > self._surplus(gang)
