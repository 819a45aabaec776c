"""The cheapest victims with which a gang fits, and not one too many.

1. Victims may only be pods of a lower priority that nothing else protects (`victim_costs`). Where
   there are queues, their rules say which pods may be evicted, and which together (`judge`).
2. Candidates are the domains of the layer in which the gang must gather; without a topology
   request the whole cluster. The least cost of each is counted for all at once and orders them
   (`candidates`).
3. In each candidate that may be cheaper than the best so far, the search finds the cheapest set
   of victims that makes room. It is exact up to sixteen units (`exhaustive`), and uses eviction
   sets above (`eviction_sets`): as few as suffice, found by doubling and halving. With queues it
   takes the first units that suffice in some order: by turns of the queues, or node by node
   (`greedy`).
4. Reprieve: victims are put back, the most valuable first, while the gang still fits and no other
   victim is evicted by a higher class. For each victim, all members are placed again. If there are
   too many victims for that, the victims that fit beside the placed members are put back
   (`reprieve`).
5. Of all candidates the cheapest is taken; then the one with the least left over; then the first
   by name.

The search is bounded for the whole cycle (`effort`). At the bound it takes the best victims found
so far, and the outcome says that the search was cut off.
"""

import bisect
import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import BoolArray
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import PodSelector
from gang_scheduler.model.topology import Domain
from gang_scheduler.scheduler.preemption.eviction_units import ANY_PRIORITY, EvictionUnit
from gang_scheduler.scheduler.preemption.potential_victims import Pool, PotentialVictims
from gang_scheduler.scheduler.preemption.preemptor import (
    Needs,
    Placements,
    Preemptor,
    Slots,
    usage_of,
)
from gang_scheduler.scheduler.preemption.queue_rules import Classes, Judge, victims_of
from gang_scheduler.scheduler.preemption.search import candidates, exhaustive, greedy, reprieve
from gang_scheduler.scheduler.preemption.search.candidates import Candidate, EvictableUnit
from gang_scheduler.scheduler.preemption.search.eviction_sets import EvictionSets
from gang_scheduler.scheduler.preemption.search.exhaustive import LOOKS, MOST_LOSSES, Problem
from gang_scheduler.scheduler.preemption.victim_costs import Cost, Victims
from gang_scheduler.scheduler.trial import Share

# Equal domains: of several domains with the same nodes and pods, only the first is searched.

Traits = tuple[object, ...]
"""The properties of one pod that matter: its resources, and the cost of its gang."""


def key_of_equal_domains(
    candidate: Candidate, preemptor: Preemptor, potential: PotentialVictims
) -> Hashable | None:
    """Return a key that two domains share only if they are alike, node by node in some order.

    None if anything else than resources counts, or gangs are elastic. Domains that are alike may
    still get different keys. For pods with equal traits, the order of names decides which gangs of
    the two domains correspond.
    """
    places = np.flatnonzero(potential.on_nodes(candidate.rows))
    if candidate.place is None or not preemptor.is_plain or potential.elastic[places].any():
        return None
    there: dict[int, list[tuple[Traits, BoundPod]]] = {
        row: [] for row in np.flatnonzero(candidate.rows).tolist()
    }
    for place in places.tolist():
        each = potential.bound_pods[place]
        there[int(potential.rows[place])].append((_traits(each, potential), each))
    nodes = []
    for row, held in there.items():
        room = preemptor.trial.free[row].tobytes(), preemptor.open_to[:, row].tobytes()
        held.sort(key=lambda each: each[0] if potential.judge is None else str(each[0]))
        nodes.append(((room, tuple(traits for traits, _ in held)), [t.gang for _, t in held]))
    nodes.sort(key=lambda each: each[0] if potential.judge is None else (each[0][0], str(each[0])))
    gangs = _numbered(gang for _, some in nodes for gang in some)
    return tuple(traits for traits, _ in nodes), gangs


def _traits(bound_pod: BoundPod, potential: PotentialVictims) -> Traits:
    whole = potential.costs.unit_of(bound_pod)
    cost = whole.going, whole.highest_priority, whole.unprotected, whole.lost_work
    guards = tuple(sorted(whole.covered.items())), whole.overlapping
    traits = bound_pod.pod.pod_class.requests, len(whole), cost, guards
    judge = potential.judge
    return traits if judge is None else (*traits, *judge.traits(whole))


def _numbered(gangs: Iterable[GangKey]) -> tuple[int, ...]:
    """Return the gangs as numbers, counted in the order of their first occurrence."""
    numbers: dict[GangKey, int] = {}
    return tuple(numbers.setdefault(each, len(numbers)) for each in gangs)


VICTIMS_A_LOOK: Final = 10
"""Judging this many victims takes as long as one look."""
DEAR_PLACEMENTS: Final = 16
"""If too few looks are left for this many placements, counting replaces some of them."""
LACKS_QUOTA: Final = "quota"
MOST_WITHIN_BUDGETS: Final = Cost(highest_class=ANY_PRIORITY, highest_priority=ANY_PRIORITY)
NO_SELECTORS: Final[frozenset[PodSelector]] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Victims, their cost, and the placements of the preemptor, in a domain.

    Without a `domain`, they are in the whole cluster. `classes` are the classes of the victims'
    gangs; empty without queues.
    """

    victims: Victims
    placements: Placements
    cost: Cost
    domain: Domain | None = None
    classes: Classes = field(default_factory=dict)


def find(preemptor: Preemptor, potential: PotentialVictims) -> Found | None:
    """Return the cheapest victims, and the placement once they have left; None if none suffice.

    The trial stays as it is; its `effort` says whether the search was cut off.
    """
    effort = preemptor.trial.effort
    best: _Best | None = None
    # With the Eviction API, victims never exceed budgets.
    rules = preemptor.profile.rules.preemption
    bound = MOST_WITHIN_BUDGETS if rules.use_eviction_api else None
    judged: set[Hashable] = set()
    for candidate in candidates.candidates_of(preemptor, potential) if effort.may_begin() else ():
        if not effort.may_begin():
            break
        if bound is not None and candidate.least > bound:
            break
        if best is not None and not effort.may_go_on():
            break
        domain = _Domain(preemptor, potential, candidate)
        alike = domain.likeness()
        if alike is not None and alike in judged:
            continue
        judged.add(alike)
        victims = domain.cheapest(bound)
        if victims is None:
            continue
        found = _Best(domain.cost(victims), domain, victims)
        if bound is None or found.cost <= bound:
            best = found if best is None else best.or_cheaper(found)
            bound = best.cost
    if best is None:
        return None
    return _result(preemptor, potential, best)


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The cheapest victims so far."""

    cost: Cost
    domain: "_Domain"
    victims: Victims

    def or_cheaper(self, other: "_Best") -> "_Best":
        """Return the cheaper victims; at equal cost, those of the domain with least left over."""
        if self.cost != other.cost:
            return min(self, other, key=lambda each: each.cost)
        return min(self, other, key=lambda each: each.domain.size)


def _result(preemptor: Preemptor, potential: PotentialVictims, best: _Best) -> Found | None:
    candidate, victims = best.domain.candidate, best.victims
    preemptor.trial.effort.extend()
    placements = best.domain.placed(victims)
    if placements is None:
        # Too few looks are left to find these places again. No pod is evicted in vain.
        preemptor.trial.effort.cut()
        return None
    scope = preemptor.units[0].scope
    domain = None
    if scope is not None and candidate.place is not None:
        domain = scope.tree.domain(scope.must, candidate.place)
    classes = potential.judge.classes(victims) if potential.judge is not None else None
    return Found(victims, placements, best.cost, domain, classes or {})


class _Domain:
    """The search in one candidate."""

    def __init__(
        self, preemptor: Preemptor, potential: PotentialVictims, candidate: Candidate
    ) -> None:
        self._preemptor = preemptor
        self._potential = potential
        self._costs = potential.costs
        self._nodes = preemptor.trial.nodes
        self.candidate = candidate
        self._here = potential.on_nodes(candidate.rows)
        self._judge = potential.judge
        self._latest: tuple[frozenset[str], Placements] | None = None
        """The last victims that made room for all members, and the placement in that room."""
        self._freed: Victims | None = None
        """The victims whose room is free on the trial now, while some of them are put back."""

    def likeness(self) -> Hashable | None:
        """Return a key that only equal domains share."""
        judge = self._judge
        if judge is not None and judge.reclaim.short and self._fits({}):
            # All domains with room need the same victims, because they lack the same quota.
            return LACKS_QUOTA
        return key_of_equal_domains(self.candidate, self._preemptor, self._potential)

    def cost(self, victims: Victims) -> Cost:
        """Return the cost of allowed victims."""
        cost = self._costs.cost(victims)
        if self._judge is None:
            return cost
        return self._judge.cost(cost, victims, self._judge.classes(victims) or {})

    def cheapest(self, bound: Cost | None) -> Victims | None:
        """Return the cheapest victims; empty if the preemptor fits without any eviction.

        None if all potential victims are too few, or cost more than the bound.
        """
        if self._suits({}):
            return {}
        found, exact = self._exactly(bound)
        if exact:
            return found
        greedy = self._by_eviction_sets() if self._judge is None else self._in_order(self._judge)
        known = (each for each in (found, greedy) if each is not None)
        return min(known, key=self.cost, default=None)

    @property
    def size(self) -> tuple[int, int]:
        """The number of slots once all potential victims have left; the name breaks ties."""
        left_over = self._slots().without(self._potential.shares(self._here))
        return int(left_over.sum()), self.candidate.rank

    def _exactly(self, bound: Cost | None) -> tuple[Victims | None, bool]:
        """Return the cheapest victims among few units, and whether the search was complete."""
        bound_pods = (
            self._potential.bound_pods[place] for place in np.flatnonzero(self._may_go()).tolist()
        )
        there = candidates.evictable_units_of(bound_pods, self._costs, MOST_LOSSES)
        if there is None:
            return None, False
        there = [each._replace(tied=self._is_tied(each.unit)) for each in there]
        preemptor, needs = self._preemptor, self._needs(there)
        problem = Problem(
            *(there, needs, self._nodes, self._costs, self._fits_without, bound),
            counts=preemptor.is_plain,
            judge=self._judge,
            frees=self._devices_of if preemptor.asks_for_devices else None,
        )
        units, cut_off = exhaustive.cheapest(problem, preemptor.trial.effort)
        if units is None:
            return None, not cut_off
        victims = victims_of(units)
        # Chosen pods cost nothing, so the search may have added some that are not needed.
        spared = any(not unit.going for unit in units)
        return self._reprieved(victims) if spared else victims, not cut_off

    def _devices_of(self, unit: EvictionUnit) -> Hashable:
        """Return which devices become free with a unit."""
        devices = self._preemptor.trial.devices
        kinds = (kind for each in unit.bound_pods for kind in devices.kinds_of(each.pod.uses))
        return tuple(sorted(kinds))

    def _needs(self, there: Sequence[EvictableUnit]) -> Needs:
        preemptor = self._preemptor
        left = [each.unit.usage(self._nodes).rows for each in there]
        rows = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *left]))
        rows = rows[self.candidate.rows[rows]]
        return Needs(
            preemptor.floors, preemptor.open_to, preemptor.trial.free, self.candidate.rows, rows
        )

    def _is_tied(self, unit: EvictionUnit) -> bool:
        """Return whether the preemptor may need a pod of the unit where it is."""
        required_nearby = self._preemptor.required_nearby
        return bool(required_nearby) and any(
            required_nearby & each.pod.pod_class.selected_by for each in unit.bound_pods
        )

    def _slots(self) -> Slots:
        """Return the slots of the class with the most members."""
        preemptor = self._preemptor
        open_rows = self.candidate.rows & preemptor.open_rows
        return Slots(preemptor.largest_class[0], open_rows, preemptor.trial)

    def _fits(self, victims: Victims) -> bool:
        if self._preemptor.is_counted:
            return self._preemptor.fits(usage_of(victims.values(), self._nodes), None)
        return self.placed(victims) is not None

    def placed(self, victims: Victims) -> Placements | None:
        """Return the placement of all members once these victims have left; None without room."""
        uids = frozenset(victims)
        if self._latest is not None and self._latest[0] == uids:
            return self._latest[1]
        if self._freed is None:
            room = usage_of(victims.values(), self._nodes)
            found = self._preemptor.placed(room, self.candidate.place)
        else:
            found = self._preemptor.placed_beside(self._back(victims), self.candidate.place)
        if found is not None:
            self._latest = uids, found
        return found

    def _back(self, victims: Victims) -> list[Share]:
        """Return the room that is free on the trial now, but belongs to pods that stay here."""
        freed = self._freed or {}
        back = (each for uid, each in freed.items() if uid not in victims)
        return usage_of(back, self._nodes)

    def _fits_counted(self, victims: Victims) -> bool:
        """Return whether all members fit once these victims have left; count the test as work."""
        self._preemptor.trial.effort.count(1 + len(victims) // VICTIMS_A_LOOK)
        return self._fits(victims)

    def _fits_without(self, units: Iterable[EvictionUnit]) -> bool:
        """Return whether all members fit once these units have left; their sum is large enough."""
        if self._preemptor.is_plain:
            return True
        return self._fits(victims_of(units))

    def _suits(self, victims: Victims) -> bool:
        """Return whether the preemptor fits once these victims have left, and queues allow that."""
        if self._judge is None:
            return self._fits(victims)
        self._preemptor.trial.effort.spend(len(victims) // VICTIMS_A_LOOK)
        if self._judge.lacking(victims) or self._judge.classes(victims) is None:
            return False
        return self._fits(victims)

    def _is_raised(self, victims: Victims, fewer: Victims) -> bool:
        """Return whether victims are evicted by a higher class because others were put back."""
        judge = self._judge
        return judge is not None and judge.highest_class(fewer) > judge.highest_class(victims)

    def _may_go(self) -> BoolArray:
        """Return the mask of the pods whose eviction makes room here, or frees quota."""
        if self._judge is None:
            return self._here
        found: BoolArray = self._here | self._potential.freeing_quota()
        return found

    def _in_order(self, judge: Judge) -> Victims | None:
        """Return the first victims in an order that make enough room, without unneeded ones."""
        bound_pods = (
            self._potential.bound_pods[place] for place in np.flatnonzero(self._may_go()).tolist()
        )
        found = greedy.allowed(
            bound_pods, self._costs, judge, self._fits_counted, self._node_by_node()
        )
        return self._reprieved_in_time(found) if found is not None else None

    def _node_by_node(self) -> Iterator[Sequence[EvictionUnit]]:
        """Yield eviction sets: first for members of the largest class, then for the others."""
        slots, pool = self._slots(), Pool(ANY_PRIORITY)
        eviction_sets = EvictionSets(self._potential, slots, pool, self._here)
        pod_class, needed = self._preemptor.largest_class
        told = 0
        while self._preemptor.trial.effort.may_begin():
            is_enough = eviction_sets.choose(needed, (pod_class, self.candidate.place, pool))
            yield from eviction_sets.chosen[told:]
            told, needed = len(eviction_sets.chosen), slots.total + 1
            if not is_enough:
                return

    def _by_eviction_sets(self) -> Victims | None:
        """Return victims that make room, within budgets and of low priority if possible.

        Pods that the preemptor may need in place are spared, if possible.
        """
        for pool in self._pools():
            found = self._victims_from(pool)
            if found is not None:
                return self._reprieved_in_time(found)
        return None

    def _pools(self) -> Iterator[Pool]:
        """Yield pools that may suffice, from the lowest priority on; the last pool has all pods."""
        under_budget = bool((self._here & self._potential.under_budget).any())
        required_nearby = self._preemptor.required_nearby
        for staying in (required_nearby, NO_SELECTORS) if required_nearby else (NO_SELECTORS,):
            for outside_budgets in (True, False) if under_budget else (False,):
                yield from self._by_priority(Pool(ANY_PRIORITY, outside_budgets, staying))

    def _by_priority(self, most: Pool) -> Iterator[Pool]:
        priorities = self._potential.priorities_of(self._potential.of(most, self._here))
        pools = [most._replace(highest=price) for price in priorities]
        low, high = 0, len(pools) - 1
        while low < high:
            middle = (low + high) // 2
            if self._fits_if(self._potential.of(pools[middle], self._here)):
                high = middle
            else:
                low = middle + 1
        left = pools[low:]
        # If each pool takes a long placement, only the first and the last are tried.
        yield from dict.fromkeys((*left[:1], *left[-1:])) if self._places_are_dear else left

    @property
    def _places_are_dear(self) -> bool:
        """Whether the looks left are too few for more than some placements of all members."""
        preemptor = self._preemptor
        return not preemptor.trial.effort.affords(DEAR_PLACEMENTS * preemptor.looks_to_place)

    def _fits_if(self, chosen: BoolArray) -> bool:
        preemptor = self._preemptor
        if self._places_are_dear:
            return preemptor.may_fit(self._potential.freed(chosen))
        return preemptor.fits(self._potential.shares(chosen), self.candidate.place)

    def _victims_from(self, pool: Pool) -> Victims | None:
        slots = self._slots()
        eviction_sets = EvictionSets(self._potential, slots, pool, self._here)
        pod_class, needed = self._preemptor.largest_class
        effort = self._preemptor.trial.effort
        question = pod_class, self.candidate.place, pool
        tried, step, is_enough = 0, 1, True
        while is_enough and effort.may_begin():
            is_enough = eviction_sets.choose(needed, question)
            if len(eviction_sets.chosen) > tried or tried == 0:
                if self._fits(eviction_sets.victims):
                    return self._fewest(eviction_sets, tried)
                tried = len(eviction_sets.chosen)
            # Members of other classes need room, too, and only a placement tells how many slots
            # that takes.
            needed, step = slots.total + step, 2 * step
        all_gangs = self._costs.with_gangs(
            self._potential.victims(self._potential.of(pool, self._here))
        )
        return all_gangs if all_gangs is not None and self._fits(all_gangs) else None

    def _fewest(self, eviction_sets: EvictionSets, tried: int) -> Victims:
        """Bisect the eviction sets; return the victims of the fewest that make enough room.

        All eviction sets together make enough room. The first `tried` do not.
        """
        chosen = eviction_sets.chosen

        def first(number: int) -> Victims:
            return victims_of(itertools.chain.from_iterable(chosen[:number]))

        low, high = tried + 1, len(chosen)
        while low < high and self._preemptor.trial.effort.may_go_on():
            middle = (low + high) // 2
            if self._fits(first(middle)):
                high = middle
            else:
                low = middle + 1
        return first(high)

    def _reprieved_in_time(self, victims: Victims) -> Victims:
        """Put victims back, each with a placement, or by counting before the effort runs out.

        With placements, fewer victims remain: members may be placed around pods that stay.
        """
        preemptor = self._preemptor
        if preemptor.is_plain:
            return self._reprieved(victims)
        if not preemptor.trial.effort.affords(len(victims) * preemptor.looks_to_place):
            victims = self._beside_members(victims)
        return self._beside_members(self._reprieved(victims))

    def _beside_members(self, victims: Victims) -> Victims:
        """Put victims back that fit, by counting, beside the members as they are placed now."""
        preemptor = self._preemptor
        placements = self.placed(victims)
        if placements is None:
            return victims
        in_the_way = {
            uid
            for uid, each in victims.items()
            if preemptor.is_in_the_way(each.pod.pod_class)
            or (preemptor.asks_for_devices and each.pod.may_use_devices(extended=True))
        }
        fewer = reprieve.without_reprieved(
            placements.values(), victims, self._costs, preemptor.trial, leaving=in_the_way
        )
        if self._judge is not None:
            fewer = self._with_quota(self._judge, victims, fewer)
        room = usage_of(fewer.values(), self._nodes)
        if not preemptor.asks_only_for_resources and not preemptor.stays(placements, room):
            return victims
        self._latest = frozenset(fewer), placements
        return fewer

    def _with_quota(self, judge: Judge, victims: Victims, fewer: Victims) -> Victims:
        """Add victims to `fewer` until they free enough quota.

        Return all victims if queues do not allow the smaller set.
        """
        spared = [uid for uid in victims if uid not in fewer]

        def with_first(number: int) -> Victims:
            return {**fewer, **{uid: victims[uid] for uid in spared[:number]}}

        enough = bisect.bisect_left(
            range(len(spared)), x=True, key=lambda number: not judge.lacking(with_first(number))
        )
        found = with_first(enough)
        whole = self._costs.with_gangs(found)
        if whole is None or judge.classes(whole) is None or self._is_raised(victims, whole):
            return victims
        return whole

    def _reprieved(self, victims: Victims) -> Victims:
        """Put back the victims that are not needed, the most valuable first."""
        before = None
        # A pod that the preemptor needs in place may have to come back before others can.
        while before != len(victims) and (before is None or self._preemptor.required_nearby):
            before = len(victims)
            victims = self._once_reprieved(victims)
        return victims

    def _once_reprieved(self, victims: Victims) -> Victims:
        preemptor, slots = self._preemptor, self._slots()
        if preemptor.is_counted:
            return self._put_back(victims, slots)
        with preemptor.trial.all_or_nothing():
            preemptor.free(usage_of(victims.values(), self._nodes))
            self._freed = victims
            try:
                return self._put_back(victims, slots)
            finally:
                self._freed = None

    def _put_back(self, victims: Victims, slots: Slots) -> Victims:
        units = self._costs.units(victims)
        slots.evict(units)
        preemptor = self._preemptor
        _, needed = preemptor.largest_class
        effort = preemptor.trial.effort
        kept: set[GangKey] = set()
        for unit in self._costs.most_valuable_first(units):
            if unit.gang in kept:
                continue
            effort.spend(LOOKS)
            if unit.gang in self._costs.steps:
                kept.add(unit.gang)
            # Without enough slots for the largest class, no placement needs to be tried.
            if slots.total_with([unit]) < needed:
                continue
            if effort.is_used_up():
                break
            fewer = {uid: each for uid, each in victims.items() if uid not in unit.uids}
            if self._suits(fewer) and not self._is_raised(victims, fewer):
                slots.restore([unit])
                if self._freed is not None:
                    preemptor.trial.assume(*self._back(fewer))
                    self._freed = fewer
                victims = fewer
                # The step that goes before this one may now be spared, too.
                kept.discard(unit.gang)
        return victims
