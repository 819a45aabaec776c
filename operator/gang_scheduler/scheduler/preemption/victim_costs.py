"""The cost of victims: how costs compare, what each pod costs, and the pods evicted with it.

A gang that would fall below its minMember is evicted as a whole, and costs as a whole: its
remaining members would only hold GPUs without progress. Surplus of an elastic gang is evicted by
itself.
"""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from gang_scheduler.model.bound_pods import BoundPod, BoundPods, by_gang
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.preemption.eviction_units import (
    NO_PRIORITY,
    NO_SHARE,
    NO_STANDING,
    EvictionUnit,
    Overlap,
    Portion,
    ShareRank,
    Standing,
    SurplusSteps,
    gang_of,
    of_surplus,
)

NONE: Mapping[Portion, int] = {}


class Cost(NamedTuple):
    """The cost of a set of victims; costs compare field by field in this order, less is better.

    `over_budget` counts pods beyond the PodDisruptionBudgets, each pod once. The evictions that a
    budget allows go to the pods under the fewest budgets, then to those with the smallest uids. As
    in kube-scheduler, a pod is beyond if any of its budgets allows no more evictions. It still
    counts for its other budgets, so one victim more never makes another one cheaper.

    `broken` counts gangs that fall below their minMember, single pods included. `touched` counts
    gangs that lose any member. `unprotected` counts pods of Jobs that evictions could end for good.
    It comes before `lost_work`, in pod-seconds, since such a Job loses all its work, however long
    it ran.

    The other fields differ only with queues. `highest_class` is the highest class by which a victim
    is evicted, and `least_share` is the least amount that a queue of victims borrows. `ties`
    decides between allowed sets of the same cost. Bounds have no ties.
    """

    over_budget: int = 0
    highest_class: int = 0
    highest_priority: int = NO_PRIORITY
    least_share: ShareRank = NO_SHARE
    broken: int = 0
    touched: int = 0
    unprotected: int = 0
    lost_work: int = 0
    pods: int = 0
    ties: tuple[Any, ...] = ()


class Tally:
    """The cost of a growing set of victims, and the cost if more victims were added.

    `numbers` are the victims of each portion of a gang in the set.
    """

    def __init__(self, allowed: Mapping[str, int], surplus: Callable[[Portion], int]) -> None:
        self.cost = Cost()
        self.numbers: Counter[Portion] = Counter()
        self._beyond: set[GangKey] = set()
        self._allowed = allowed
        self._surplus = surplus
        self._going: Counter[GangKey] = Counter()
        self._covered: Counter[str] = Counter()
        self._overlapping: tuple[Overlap, ...] = ()

    def add(self, more: Collection[EvictionUnit]) -> None:
        """Add eviction units, none of which may be in the set already."""
        self.cost = self.with_more(more)
        for each in more:
            for portion, number in each.numbers.items():
                self.numbers[portion] += number
                if self.numbers[portion] > self._surplus(portion):
                    self._beyond.add(each.gang)
            self._going[each.gang] += each.going
            self._covered.update(each.covered)
            self._overlapping += each.overlapping

    def with_more(self, more: Collection[EvictionUnit]) -> Cost:
        """Return the cost of the set with more units."""
        now = self.cost
        numbers: dict[GangKey, dict[Portion, int]] = {}
        going: dict[GangKey, int] = {}
        for each in more:
            of_gang = numbers.setdefault(each.gang, {})
            for portion, number in each.numbers.items():
                of_gang[portion] = of_gang.get(portion, 0) + number
            going[each.gang] = going.get(each.gang, 0) + each.going
        return Cost(
            over_budget=self._over_budget(more),
            highest_class=max([now.highest_class, *(e.lowest_class for e in more)]),
            highest_priority=max([now.highest_priority, *(e.highest_priority for e in more)]),
            least_share=max([now.least_share, *(e.share for e in more)]),
            broken=now.broken
            + sum(self._breaks(gang, some, going[gang]) for gang, some in numbers.items()),
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

    def _breaks(self, gang: GangKey, more: Mapping[Portion, int], going: int) -> int:
        """Return 1 if this many more victims break a gang that was not broken, else 0."""
        return self._is_broken(gang, more, going) - self._is_broken(gang, NONE, 0)

    def _is_broken(self, gang: GangKey, more: Mapping[Portion, int], going: int) -> bool:
        if self._going.get(gang, 0) + going <= 0:
            return False
        return gang in self._beyond or any(
            self.numbers.get(portion, 0) + number > self._surplus(portion)
            for portion, number in more.items()
        )


Victims = dict[str, BoundPod]
"""Bound pods by the uid of the pod."""
NO_STANDINGS: Mapping[GangKey, Standing] = {}


class VictimCosts:
    """The pods that preemptors of a certain priority may evict, and the cost of each.

    The costs last for all of a cycle: for the next preemptor, the victims of the preemptor before
    have left.
    """

    def __init__(
        self,
        bound_pods: BoundPods,
        below: int,
        now: int,
        standings: Mapping[GangKey, Standing] = NO_STANDINGS,
    ) -> None:
        """Only pods of at most the priority `below` may be evicted; `now` is in seconds.

        `standings` are the ranks of gangs among victims where there are queues.
        """
        self._below = below
        self._standings = standings
        self._now = now
        self._work_since = functools.partial(bound_pods.work_since, now=now)
        self.steps = SurplusSteps(bound_pods, lambda each: _may_go(each, below))
        self._by_role = bound_pods.surplus_by_role.keys() - bound_pods.steps.keys()
        self._surplus: dict[Portion, int] = dict(bound_pods.surplus.items())
        for gang, by_role in bound_pods.surplus_by_role.items():
            self._surplus.update(((gang, role), number) for role, number in by_role.items())
        for gang in bound_pods.steps:
            self._surplus[gang] = self.steps.number(gang)
        self._allowed = dict(bound_pods.allowed)
        low = [each for each in bound_pods.pods if _may_go(each, below)]
        # Gangs without an evictable pod are never asked about.
        self._gangs: dict[GangKey, list[BoundPod]] = {each.gang: [] for each in low}
        for each in bound_pods.pods:
            if each.gang in self._gangs and (each.ends_late or not each.pod.deleting):
                self._gangs[each.gang].append(each)
        self._lost: dict[GangKey, bool] = {}
        self._highest: dict[GangKey, int] = {}
        for gang in self._gangs:
            self._weigh(gang)
        self._units: dict[GangKey | str, EvictionUnit] = {}
        self._alone: dict[GangKey | str, Cost] = {}
        self._keys: defaultdict[GangKey, set[GangKey | str]] = defaultdict(set)
        self.evictable = [each for each in low if self.may_go(each)]
        """The pods that could be evicted at first."""

    @property
    def has_standings(self) -> bool:
        """Whether there are queues."""
        return bool(self._standings)

    def name(self, gang: GangKey) -> tuple[object, ...]:
        """Return the sort key of a gang's name; without queues all gangs have the same key."""
        return self._standings.get(gang, NO_STANDING).name[:2]

    def leave(self, victims: Collection[BoundPod]) -> set[GangKey]:
        """Record that victims have left, with all members that are evicted with them.

        Return the gangs whose cost has changed.
        """
        gone = {each.pod.uid for each in victims}
        gangs = {each.gang for each in victims}
        for portion, number in Counter(map(self.portion, victims)).items():
            self._surplus[portion] = max(0, self.surplus(portion) - number)
        for gang in gangs:
            left = [each for each in self.members(gang) if each.pod.uid not in gone]
            self._gangs[gang] = left
            self._weigh(gang)
            if gang in self.steps:
                self.steps.leave(gang, gone)
                self._surplus[gang] = self.steps.number(gang)
        used = Counter(budget for each in victims for budget in each.budgets)
        for budget in used.keys() & self._allowed.keys():
            allowed = max(0, self._allowed[budget] - used[budget])
            if allowed != self._allowed[budget]:
                self._allowed[budget] = allowed
                gangs |= self._under[budget]
        for gang in gangs:
            for key in self._keys.pop(gang, ()):
                self._units.pop(key, None)
                self._alone.pop(key, None)
        return gangs

    @functools.cached_property
    def _under(self) -> Mapping[str, set[GangKey]]:
        """The gangs with pods under each PodDisruptionBudget."""
        found: defaultdict[str, set[GangKey]] = defaultdict(set)
        for gang, members in self._gangs.items():
            for budget in (budget for each in members for budget in each.budgets):
                found[budget].add(gang)
        return found

    def portion(self, bound_pod: BoundPod) -> Portion:
        """Return the portion in which a bound pod may be surplus: its gang, or its role."""
        gang = bound_pod.gang
        return (gang, bound_pod.pod.role) if gang in self._by_role else gang

    def surplus(self, portion: Portion) -> int:
        """Return how many members a gang or role can lose without falling below its minimum."""
        return self._surplus.get(portion, 0)

    def surplus_of(self, bound_pod: BoundPod) -> int:
        """Return how many members like this one its gang can lose."""
        if bound_pod.gang in self.steps and self.steps.place(bound_pod) is None:
            return 0
        return self._surplus.get(self.portion(bound_pod), 0)

    def has_surplus(self, gang: GangKey) -> bool:
        """Return whether a gang can lose at least one member and stay above its minimum."""
        if gang not in self._by_role:
            return self.surplus(gang) > 0
        return any(self.surplus_of(each) for each in self.members(gang))

    def is_broken(self, numbers: Mapping[Portion, int]) -> bool:
        """Return whether a gang falls below its minMember if it loses this many members."""
        return any(number > self._surplus.get(each, 0) for each, number in numbers.items())

    def numbers(self, bound_pods: Iterable[BoundPod]) -> Mapping[Portion, int]:
        """Return how many bound pods are of each portion."""
        return Counter(map(self.portion, bound_pods))

    def members(self, gang: GangKey) -> list[BoundPod]:
        """Return the bound pods of a gang that are not leaving already."""
        return self._gangs.get(gang, [])

    def may_break(self, gang: GangKey) -> bool:
        """Return whether a gang may be evicted as a whole."""
        return self._lost.get(gang, False)

    def may_go(self, bound_pod: BoundPod) -> bool:
        """Return whether an evictable pod can be evicted now, alone or with its gang."""
        return self._lost[bound_pod.gang] or self.surplus_of(bound_pod) > 0

    def evicted_along(self, bound_pod: BoundPod) -> list[BoundPod] | None:
        """Return a surplus pod with all pods that are evicted before it; None for any other pod."""
        if bound_pod.gang in self.steps:
            return self.steps.with_all(bound_pod.gang, [bound_pod])
        return [bound_pod] if self.surplus_of(bound_pod) > 0 else None

    def priority(self, bound_pod: BoundPod) -> int:
        """Return the highest priority that is evicted with a pod: its own, or that of its gang."""
        if not self.surplus_of(bound_pod):
            return self._highest[bound_pod.gang]
        if self._standings:
            return NO_PRIORITY
        if bound_pod.gang not in self.steps:
            return price_of(bound_pod)
        return max(map(price_of, self.evicted_along(bound_pod) or ()))

    def work(self, bound_pod: BoundPod) -> int:
        """Return the run time that is lost with a pod, in pod-seconds."""
        return bound_pod.pod.lost_work(self._now, self._work_since(bound_pod.gang))

    def is_beyond(self, bound_pod: BoundPod) -> bool:
        """Return whether a budget of the pod allows no eviction at all."""
        exhausted = (self._allowed.get(each, 0) <= 0 for each in bound_pod.budgets)
        return not bound_pod.pod.is_victim and any(exhausted)

    def with_gangs(self, victims: Victims) -> Victims | None:
        """Return victims with all pods that leave with them; None if any of these must stay."""
        closed = dict(victims)
        for portion, number in self.numbers(victims.values()).items():
            gang = gang_of(portion)
            if number <= self.surplus(portion):
                if gang not in self.steps:
                    continue
                own = [each for each in victims.values() if each.gang == gang]
                steps = self.steps.with_all(gang, own)
                if steps is not None:
                    closed.update((each.pod.uid, each) for each in steps)
                    continue
            if not self._lost[gang]:
                return None
            closed.update((each.pod.uid, each) for each in self._gangs[gang])
        return closed

    def unit_of(self, bound_pod: BoundPod) -> EvictionUnit:
        """Return the unit with which a pod is evicted: alone or with its step, or its gang."""
        surplus = self.evicted_along(bound_pod)
        key = bound_pod.gang if surplus is None else surplus[-1].pod.uid
        if key not in self._units:
            self._keys[bound_pod.gang].add(key)
            self._units[key] = self.unit(surplus or self._gangs[bound_pod.gang])
        return self._units[key]

    def unit(self, bound_pods: Collection[BoundPod]) -> EvictionUnit:
        """Return bound pods of one gang as one eviction unit."""
        first = next(iter(bound_pods))
        numbers = self.numbers(bound_pods) if first.gang in self._by_role else None
        standing = self._standings[first.gang] if self._standings else NO_STANDING
        since = self._work_since(first.gang)
        unit = EvictionUnit(tuple(bound_pods), self._now, standing, numbers, since)
        if not self._standings:
            return unit
        return unit if self.is_broken(unit.numbers) else of_surplus(unit)

    def cost_of(self, bound_pod: BoundPod) -> Cost:
        """Return the cost of a pod, with its gang if the gang must be evicted as a whole."""
        surplus = self.evicted_along(bound_pod)
        key = bound_pod.gang if surplus is None else surplus[-1].pod.uid
        if key not in self._alone:
            self._alone[key] = self.tally().with_more([self.unit_of(bound_pod)])
        return self._alone[key]

    def units(self, victims: Mapping[str, BoundPod]) -> list[EvictionUnit]:
        """Return victims as eviction units, one for each gang."""
        return [self.unit(each) for each in by_gang(victims.values()).values()]

    def cost(self, victims: Mapping[str, BoundPod]) -> Cost:
        """Return the cost of victims. A pod that was chosen already costs nothing."""
        return self.tally().with_more(self.units(victims))

    def tally(self) -> Tally:
        """Return the running cost of a set that grows."""
        return Tally(self._allowed, self.surplus)

    def most_valuable_first(
        self, units: Iterable[EvictionUnit], gone: Mapping[Portion, int] = NONE
    ) -> list[EvictionUnit]:
        """Return units split into parts that can be spared separately, the most valuable first.

        They are ordered by budget, priority, the danger that evictions end a Job, size of the gang,
        and age. `gone` are further victims by portion.
        """
        groups: dict[GangKey, list[EvictionUnit]] = {}
        for each in units:
            groups.setdefault(each.gang, []).append(each)
        apart: list[tuple[tuple[object, ...], EvictionUnit]] = []
        for gang, some in groups.items():
            numbers = Counter[Portion]()
            for each in some:
                numbers.update(each.numbers)
            broken = self.is_broken({each: gone.get(each, 0) + n for each, n in numbers.items()})
            if broken and len(some) == 1:
                apart += [(self._value(each), each) for each in some]
                continue
            bound_pods = [each for unit in some for each in unit.bound_pods]
            apart += self._parts(gang, [bound_pods] if broken else None, bound_pods)
        return [unit for _, unit in sorted(apart, key=itemgetter(0))]

    def _parts(
        self,
        gang: GangKey,
        parts: list[list[BoundPod]] | None,
        bound_pods: Sequence[BoundPod],
    ) -> Iterator[tuple[tuple[object, ...], EvictionUnit]]:
        """Yield parts of a gang with the value of each; by default its steps, or single pods.

        Steps keep their order: a step is put back only after all steps that are evicted later.
        """
        if parts is None and gang in self.steps:
            parts = self.steps.apart(gang, bound_pods)
        found = [self.unit(each) for each in parts or ([each] for each in bound_pods)]
        for each in found:
            yield self._value(found[0] if gang in self.steps else each), each

    def _weigh(self, gang: GangKey) -> None:
        members = self._gangs[gang]
        self._lost[gang] = all(_may_go(each, self._below) for each in members)
        self._highest[gang] = max(map(price_of, members), default=NO_PRIORITY)

    def _value(self, unit: EvictionUnit) -> tuple[object, ...]:
        bound_pod = unit.bound_pods[0]
        pod = bound_pod.pod
        size = len(self._gangs[bound_pod.gang])
        return (
            pod.is_victim,
            not bound_pod.budgets,
            -bound_pod.priority,
            not unit.unprotected,
            -size,
            pod.started_at,
            pod.uid,
        )


def _may_go(bound_pod: BoundPod, below: int) -> bool:
    is_leaving = bound_pod.pod.deleting and not bound_pod.ends_late
    return bound_pod.evictable and bound_pod.priority <= below and not is_leaving


def price_of(bound_pod: BoundPod) -> int:
    """Return the priority that counts: a pod that was already chosen as a victim costs nothing."""
    return NO_PRIORITY if bound_pod.pod.is_victim else bound_pod.priority
