"""Candidate domains in which a preemptor may find room, and the least that victims cost there.

All domains are judged at once, by plain counting: the lowest priority that suffices, and the
least number of gangs, work and pods to evict. A domain that costs more than the best victims
known is not searched.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.refs import GangKey, natural_key
from gang_scheduler.scheduler.placement.tree import replacements
from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY, EvictionUnit, Portion
from gang_scheduler.scheduler.preemption.potential_victims import NOWHERE, PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import NONE, Preemptor, Shares, places
from gang_scheduler.scheduler.preemption.victim_costs import Cost, VictimCosts

FREE: Final = Cost()
MOST_FLOORS: Final = 4
"""The most floors for which the least cost of each domain is computed."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A domain, or the whole cluster: the rows of its nodes, and the least cost of victims there.

    `place` is the domain's place in its level, `rank` the place of its name in alphabetical order.
    """

    place: int | None
    rows: BoolArray
    rank: int = 0
    least: Cost = FREE


class _Domains(NamedTuple):
    """The domains of a level: for each node row the place of its domain, or NOWHERE."""

    of_rows: IntArray
    ranks: IntArray


class _Pool(NamedTuple):
    """The pods that may be evicted in the domains, up to the `highest` priority of each domain.

    `over` are the domains that make enough room only by exceeding a PodDisruptionBudget.
    """

    chosen: BoolArray
    highest: IntArray
    over: BoolArray


def candidates_of(preemptor: Preemptor, potential: PotentialVictims) -> list[Candidate]:
    """Return the domains with enough places once all potential victims left, cheapest first."""
    found = _domains(preemptor)
    if found is None:
        rows = np.ones(len(preemptor.trial.nodes), dtype=np.bool_)
        all_free = preemptor.free_without(potential.freed(potential.remaining))
        return [Candidate(None, rows)] if preemptor.is_enough_by_counting(all_free) else []
    least = _Least(preemptor, potential, found)
    candidates = [
        Candidate(place, found.of_rows == place, int(found.ranks[place]), cost)
        for place, cost in least.costs()
    ]
    return sorted(candidates, key=lambda each: (each.least, each.rank))


def _domains(preemptor: Preemptor) -> _Domains | None:
    """Return the domains, one of which must hold the preemptor; None: the whole cluster."""
    unit = preemptor.units[0]
    scope = unit.scope
    if len(preemptor.units) > 1 or scope is None or scope.must == 0:
        return None
    tree, level = scope.tree, scope.tree.levels[scope.must]
    of_rows = np.full(len(preemptor.trial.nodes), NOWHERE, dtype=np.int64)
    of_rows[tree.rows] = level.at(np.arange(len(tree.rows)))
    home = replacements.home_of(unit.bound_members, scope)
    if home is not None:
        of_rows[of_rows != home] = NOWHERE
    return _Domains(of_rows, level.ranks)


class _Least:
    """The least cost of victims in each domain."""

    def __init__(
        self, preemptor: Preemptor, potential: PotentialVictims, domains: _Domains
    ) -> None:
        self._preemptor = preemptor
        self._potential = potential
        self._floors = preemptor.floors
        self._number = len(domains.ranks)
        self._of_rows = domains.of_rows
        on_nodes = potential.remaining & (potential.rows != NOWHERE)
        self._of_bound_pods = np.where(on_nodes, domains.of_rows[potential.rows], NOWHERE)
        self._here = self._of_bound_pods != NOWHERE

    def costs(self) -> list[tuple[int, Cost]]:
        """Return the domains that can have enough places, and the least cost of victims in each."""
        pool = self._pool()
        holding = np.flatnonzero(self._suffice(self._up_to(pool, pool.highest)))
        broken, unprotected, work, pods = self._shares(pool)
        return [
            (
                place,
                Cost(
                    over_budget=int(pool.over[place]),
                    highest_priority=int(pool.highest[place]),
                    broken=int(broken[place]),
                    touched=int(broken[place]),
                    unprotected=int(unprotected[place]),
                    lost_work=int(work[place]),
                    pods=int(pods[place]),
                ),
            )
            for place in holding.tolist()
        ]

    def _pool(self) -> _Pool:
        """Return the pods to consider: within budgets if enough, up to the lowest priority."""
        beyond = self._potential.beyond()
        within = self._here & ~beyond
        highest = np.array(
            [NO_PRIORITY, *self._potential.priorities_of(self._here)], dtype=np.int64
        )
        everything = np.full(self._number, highest[-1])
        over = np.zeros(self._number, dtype=np.bool_)
        if beyond.any():
            over = ~self._suffice(self._up_to(_Pool(within, everything, over), everything))
        pool = _Pool(within | (self._here & over[self._of_bound_pods]), everything, over)
        return pool._replace(highest=self._lowest(pool, highest))

    def _lowest(self, pool: _Pool, priorities: IntArray) -> IntArray:
        """Return the lowest priority that suffices in each domain, by bisection of all at once."""
        low = np.zeros(self._number, dtype=np.int64)
        high = np.full(self._number, len(priorities) - 1)
        while (low < high).any():
            middle = (low + high) // 2
            enough = self._suffice(self._up_to(pool, priorities[middle]))
            high = np.where(enough, middle, high)
            low = np.where(enough, low, np.minimum(middle + 1, high))
        # A pod beyond a budget costs more than any priority: no bound on priorities is known then.
        return np.where(pool.over, NO_PRIORITY, priorities[low])

    def _up_to(self, pool: _Pool, highest: IntArray) -> BoolArray:
        """Return the pods of the pool, in each domain up to the `highest` priority there."""
        limits = np.where(pool.over, self._potential.priorities.max(initial=NO_PRIORITY), highest)
        found: BoolArray = pool.chosen & (self._potential.priorities <= limits[self._of_bound_pods])
        return found

    def _suffice(self, leaving: BoolArray) -> BoolArray:
        """Return the domains that have enough places once the `leaving` pods have left."""
        there = self._places(leaving)
        verdicts = [
            self._sum_by_domain(row) >= needed
            for row, needed in zip(there, self._floors.needed, strict=True)
        ]
        enough: BoolArray = np.logical_and.reduce(verdicts)
        return enough

    def _places(self, leaving: BoolArray) -> IntArray:
        free = self._preemptor.free_without(self._potential.freed(leaving))
        return places(self._floors.least, free, self._preemptor.open_to)

    def _sum_by_domain(self, by_row: IntArray) -> IntArray:
        inside = self._of_rows != NOWHERE
        weights = by_row[inside].astype(np.float64)
        found = np.bincount(self._of_rows[inside], weights, minlength=self._number)
        return found.astype(np.int64)

    def _shares(self, pool: _Pool) -> tuple[IntArray, ...]:
        """Return the least loss of each domain: gangs, unprotected pods, work, and pods."""
        none_leaves = np.zeros(len(self._here), dtype=np.bool_)
        leaving = self._up_to(pool, pool.highest)
        now, at_best = self._places(none_leaves), self._places(leaving)
        pods = np.flatnonzero(leaving)
        weights = self._weights(pods)
        least = np.zeros((len(weights), self._number), dtype=np.int64)
        for floor in range(min(len(now), MOST_FLOORS)):
            gains = self._gains(floor, now[floor], at_best[floor], pods)
            lacking = self._floors.needed[floor] - self._sum_by_domain(now[floor])
            for place, each in enumerate(weights):
                found = self._cheapest(self._of_bound_pods[pods], each, gains, lacking)
                least[place] = np.maximum(least[place], found)
        return tuple(least)

    def _weights(self, pods: IntArray) -> tuple[Shares, ...]:
        """Return the gangs, unprotected pods, work and pods that are lost with each pod of `pods`.

        The cost of a gang that is evicted as a whole is split evenly among its pods in the domain.
        """
        potential = self._potential
        gangs = potential.gangs[pods]
        rigid = ~potential.elastic[pods]
        endangered = np.bincount(potential.gangs, potential.remaining & potential.unprotected)
        work = np.bincount(potential.gangs, np.where(potential.remaining, potential.work, 0))
        members = np.bincount(potential.gangs, potential.remaining & ~potential.chosen)
        both = self._of_bound_pods[pods] * (1 + potential.gangs.max(initial=0)) + gangs
        _, inverse, sizes = np.unique(both, return_inverse=True, return_counts=True)
        parts = sizes[inverse]
        alone = (~potential.chosen[pods]).astype(np.float64)
        return (
            np.where(rigid & (members[gangs] > 0), 1 / parts, 0.0),
            np.where(rigid, endangered[gangs] / parts, potential.unprotected[pods]),
            np.where(rigid, work[gangs] / parts, potential.work[pods]),
            np.where(rigid, members[gangs] / parts, alone),
        )

    def _gains(self, floor: int, now: IntArray, at_best: IntArray, pods: IntArray) -> Shares:
        """Return a bound on the places that each pod makes by leaving, as `Needs.gains` does."""
        request = self._floors.least[floor]
        asked = np.flatnonzero(request)
        if not len(asked):
            return np.zeros(len(pods))
        rows = self._potential.rows[pods]
        parts = self._preemptor.trial.free[rows][:, asked] / request[asked]
        shortest = parts.argmin(axis=1)
        lines = np.arange(len(pods))
        begun = (parts[lines, shortest] - now[rows]).clip(min=0)
        left = self._potential.used[pods, asked[shortest]] / request[asked[shortest]]
        gains: Shares = np.where(left > 0, np.minimum(begun + left, (at_best - now)[rows]), 0)
        return gains

    def _cheapest(
        self, domains: IntArray, weights: Shares, gains: Shares, lacking: IntArray
    ) -> IntArray:
        """Return for each domain the least weight that gains the lacking amount.

        Choices count as divisible, so no whole choices weigh less.
        """
        useful = np.flatnonzero(gains > NONE)
        order = useful[np.lexsort((weights[useful] / gains[useful], domains[useful]))]
        domains, weights, gains = domains[order], weights[order], gains[order]
        before = np.cumsum(gains) - gains
        first = np.searchsorted(domains, domains)
        parts = (lacking[domains] - NONE - (before - before[first])) / gains
        taken = np.bincount(domains, weights * parts.clip(0, 1), minlength=self._number)
        least: IntArray = np.ceil(taken * (1 - NONE) - NONE).clip(min=0).astype(np.int64)
        return least


# The units in a domain that can be evicted separately: whole gangs, and single pods of elastic
# gangs.


class EvictableUnit(NamedTuple):
    """An eviction unit that can be evicted or left.

    An elastic gang loses `single` pods, no more than its surplus, or some of its `steps`, or it is
    evicted as a `whole`. A unit is `tied` if the preemptor may need its pods where they are.
    """

    unit: EvictionUnit
    single: bool = False
    whole: bool = False
    steps: bool = False
    tied: bool = False

    @property
    def gang(self) -> GangKey:
        """The gang of the eviction unit."""
        return self.unit.gang

    @property
    def of_surplus(self) -> bool:
        """Whether the gang keeps running without the unit."""
        return self.single or self.steps

    @property
    def portion(self) -> Portion:
        """The portion of the gang to which a single pod belongs."""
        return next(iter(self.unit.numbers))


def evictable_units_of(
    bound_pods: Iterable[BoundPod], costs: VictimCosts, most: int
) -> list[EvictableUnit] | None:
    """Return the units among these bound pods; None if there are more than `most`."""
    found: dict[object, EvictableUnit] = {}
    elastic: dict[GangKey, None] = {}
    for each in bound_pods:
        surplus = costs.evicted_along(each)
        key = each.gang if surplus is None else surplus[-1].pod.uid
        if key in found or (surplus is None and not costs.may_break(each.gang)):
            continue
        steps = surplus is not None and each.gang in costs.steps
        single = surplus is not None and not steps
        found[key] = EvictableUnit(costs.unit_of(each), single=single, steps=steps)
        if surplus is not None:
            elastic[each.gang] = None
        if len(found) > most:
            return None
    for gang in elastic:
        # Members that are not surplus go together with all others: the whole gang is one unit.
        found.pop(gang, None)
    broken = (costs.unit(costs.members(gang)) for gang in elastic if costs.may_break(gang))
    both = [*found.values(), *(EvictableUnit(unit, whole=True) for unit in broken)]
    # Among sets with equal costs, the same one is always chosen, in whatever order the pods come.
    names = Counter(costs.name(gang) for gang in {each.gang for each in both})
    return sorted(both, key=lambda each: _place(each, costs, names))


def _place(
    evictable_unit: EvictableUnit, costs: VictimCosts, names: Mapping[tuple[object, ...], int]
) -> tuple[Any, ...]:
    """Return the sort key of a unit; pods are compared by name only if their gangs tie."""
    name, last = (
        costs.name(evictable_unit.gang),
        (min(evictable_unit.unit.uids), len(evictable_unit.unit)),
    )
    if costs.has_standings and (evictable_unit.of_surplus or names[name] > 1):
        pods = evictable_unit.unit.bound_pods
        return evictable_unit.whole, name, min(natural_key(each.pod.name) for each in pods), *last
    return evictable_unit.whole, name, *last


def units_to_evict_before(
    evictable_units: Sequence[EvictableUnit],
    traits: Callable[[EvictionUnit], Hashable] | None = None,
) -> Mapping[int, frozenset[int]]:
    """Return for each unit the units to evict before it: they free the same room, and cost no more.

    Units are numbered by their places in the sequence. Of equal units, the earlier go first.
    `traits` returns further properties that must be equal.
    """
    alike: dict[object, list[int]] = {}
    for place, each in enumerate(evictable_units):
        key = _likeness(each), traits and traits(each.unit)
        alike.setdefault(key, []).append(place)
    found: dict[int, frozenset[int]] = {}
    for several in alike.values():
        for place in several:
            others = (each for each in several if each != place)
            found[place] = frozenset(
                each for each in others if _precedes(evictable_units, each, place)
            )
    return found


def _precedes(evictable_units: Sequence[EvictableUnit], one: int, other: int) -> bool:
    ours, theirs = _price(evictable_units[one].unit), _price(evictable_units[other].unit)
    no_dearer = all(a <= b for a, b in zip(ours, theirs, strict=True))
    return no_dearer and (ours != theirs or one < other)


def _price(unit: EvictionUnit) -> tuple[int, ...]:
    return unit.highest_priority, unit.unprotected, unit.lost_work, unit.going


def _likeness(evictable_unit: EvictableUnit) -> object:
    """Return a key that units share if they free the same room and break as many gangs."""
    unit = evictable_unit.unit
    room = frozenset(
        Counter((each.pod.node, each.pod.pod_class) for each in unit.bound_pods).items()
    )
    # Choices within an elastic gang are compared only with each other. Another gang costs one
    # more touched gang.
    apart: Portion | None = None
    if evictable_unit.of_surplus or evictable_unit.whole or not unit.going:
        apart = evictable_unit.portion if evictable_unit.single else evictable_unit.gang
    covered = frozenset(unit.covered.items())
    return room, apart, covered, unit.overlapping, evictable_unit.single, evictable_unit.tied
