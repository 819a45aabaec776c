"""Who must go so that a whole gang fits, and not one too many.

1. Victims may only be pods of a lower priority that nothing else protects (`tolls`).
2. Candidates are the domains that the gang must gather in; without such, the whole cluster.
3. In each candidate: the cheapest set of victims that makes room. Exact up to sixteen losses
   (`exhaustive`), by closures above that (`closures`).
4. Reprieve: put victims back while the gang still fits, the most valuable first.
5. Of all candidates the cheapest; then the one with the least left over; then the first by name.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gang_scheduler.model.nodes import BoolArray
from gang_scheduler.model.topology import Domain, Topology
from gang_scheduler.scheduler.placement import gather
from gang_scheduler.scheduler.preemption import exhaustive
from gang_scheduler.scheduler.preemption.closures import Closures
from gang_scheduler.scheduler.preemption.exhaustive import MOST_LOSSES
from gang_scheduler.scheduler.preemption.preemptor import Placements, Preemptor, room_of
from gang_scheduler.scheduler.preemption.roster import Pool, Roster
from gang_scheduler.scheduler.preemption.slots import Slots
from gang_scheduler.scheduler.preemption.tolls import Cost, Tolls, Victims


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Who goes, and where everybody of the preemptor then is; `domain` is None for the cluster."""

    victims: Victims
    placements: Placements
    cost: Cost
    domain: Domain | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A domain, or the whole cluster: the rows of its nodes. `place` is its place in its level."""

    place: int | None
    rows: BoolArray
    rank: int = 0


def find(preemptor: Preemptor, roster: Roster) -> Found | None:
    """Return the cheapest victims and where the preemptor is then; None if none suffice.

    Nothing is changed in the trial.
    """
    tolls = roster.tolls

    def allows(victims: Victims) -> bool:
        rules = preemptor.profile.preemption
        return not (rules.within_budgets and tolls.cost(victims).over_budget)

    found: list[tuple[Cost, _Domain, Victims]] = []
    for priority, candidates in _candidates(preemptor, roster):
        for candidate in candidates:
            domain = _Domain(preemptor, roster, candidate)
            victims = domain.cheapest()
            if victims is not None and allows(victims):
                found.append((tolls.cost(victims), domain, victims))
        # A domain that only seemed to hold them may have taken higher victims than this step's.
        if any(cost.highest_priority <= priority for cost, _, _ in found):
            break
    if not found:
        return None
    least = min(cost for cost, _, _ in found)
    cheapest = [(domain, victims) for cost, domain, victims in found if cost == least]
    domain, victims = min(cheapest, key=lambda each: each[0].size) if cheapest[1:] else cheapest[0]
    return _found(preemptor, tolls, domain.candidate, victims)


def _found(preemptor: Preemptor, tolls: Tolls, candidate: Candidate, victims: Victims) -> Found:
    with preemptor.trial.all_or_nothing():
        preemptor.free(room_of(victims.values(), preemptor.trial.nodes))
        placements = preemptor.place(candidate.place) or {}
    ground = preemptor.units[0].ground
    domain = None
    if ground is not None and candidate.place is not None:
        domain = ground.tree.domain(ground.must, candidate.place)
    return Found(victims, placements, tolls.cost(victims), domain)


def _candidates(preemptor: Preemptor, roster: Roster) -> Iterator[tuple[int, list[Candidate]]]:
    """Yield the domains where the preemptor may fit if everybody goes who may, step by step.

    In the first step only victims of the lowest priority go, and so on: a domain where that is
    enough is cheaper than all that come later. With budgets, which count before priorities, there
    is one step.
    """
    there = roster.there
    steps = {price: there & (roster.prices == price) for price in roster.prices_of(there)}
    if (there & roster.guarded).any():
        steps = {0: there}
    emptier = Preemptor(preemptor.units, preemptor.trial.copy(), preemptor.profile)
    seen: set[int | None] = set()
    for priority, leaving in steps.items():
        emptier.free(roster.shares(leaving))
        fresh = [each for each in _domains(emptier) if each.place not in seen]
        seen |= {each.place for each in fresh}
        if fresh:
            yield priority, fresh


def _domains(preemptor: Preemptor) -> list[Candidate]:
    """Return the domains that offer each class of the preemptor enough; else the whole cluster."""
    nodes = preemptor.trial.nodes
    unit = preemptor.units[0]
    ground = unit.ground
    if len(preemptor.units) > 1 or ground is None or ground.must == 0:
        everywhere = Candidate(None, np.ones(len(nodes), dtype=np.bool_))
        return [everywhere] if preemptor.fits((), None) else []
    tree, level = ground.tree, ground.tree.levels[ground.must]
    holding = gather.domains_that_hold(
        unit.only(unit.required), ground, preemptor.trial, preemptor.profile
    )
    return [
        Candidate(place, _rows(tree, ground.must, place, len(nodes)), int(level.ranks[place]))
        for place in holding
    ]


def _rows(tree: Topology, depth: int, place: int, count: int) -> BoolArray:
    rows = np.zeros(count, dtype=np.bool_)
    rows[tree.rows[tree.slice_of(depth, place)]] = True
    return rows


class _Domain:
    """The search in one candidate."""

    def __init__(self, preemptor: Preemptor, roster: Roster, candidate: Candidate) -> None:
        self._preemptor = preemptor
        self._roster = roster
        self._tolls = roster.tolls
        self._nodes = preemptor.trial.nodes
        self.candidate = candidate
        self._here = roster.on_nodes(candidate.rows)

    def cheapest(self) -> Victims | None:
        """Return the cheapest victims, none where nobody needs to go; None if all are too few."""
        if self._fits({}):
            return {}
        greedy = self._by_closures()
        known = None if greedy is None else self._reprieved(greedy)
        losses = self._losses()
        if len(losses) > MOST_LOSSES:
            return known
        most = self._preemptor.most_trials
        return exhaustive.cheapest(losses, known, self._tolls, self._fits, most)

    @property
    def size(self) -> tuple[int, int]:
        """How many slots there would be if everybody went who may; equal ones are by name."""
        left_over = self._slots().without(self._roster.shares(self._here))
        return int(left_over.sum()), self.candidate.rank

    def _slots(self) -> Slots:
        """Return the slots of the class that most members are of."""
        preemptor = self._preemptor
        open_rows = self.candidate.rows & preemptor.open_rows
        return Slots(preemptor.largest_class[0], open_rows, preemptor.trial)

    def _fits(self, victims: Victims) -> bool:
        room = room_of(victims.values(), self._nodes)
        return self._preemptor.fits(room, self.candidate.place)

    def _fits_without(self, chosen: BoolArray) -> bool:
        return self._preemptor.fits(self._roster.shares(chosen), self.candidate.place)

    def _losses(self) -> list[Victims]:
        """Return what can be taken apart, single pods of elastic gangs and others whole.

        No more of them than it takes to know that there are too many.
        """
        losses: dict[object, Victims] = {}
        for place in np.flatnonzero(self._here).tolist():
            each = self._roster.tenants[place]
            alone = self._tolls.surplus(each.gang) > 0
            key = each.pod.uid if alone else each.gang
            taken = None if key in losses else self._tolls.with_gangs({each.pod.uid: each})
            if taken is not None:
                losses[key] = taken
            if len(losses) > MOST_LOSSES:
                break
        return list(losses.values())

    def _by_closures(self) -> Victims | None:
        """Return victims that make room: within budgets and of low priority, if that is enough."""
        guarded = bool((self._here & self._roster.guarded).any())
        for unguarded in (True, False) if guarded else (False,):
            for pool in self._pools(unguarded=unguarded):
                found = self._from(pool)
                if found is not None:
                    return found
        return None

    def _pools(self, *, unguarded: bool) -> Iterator[Pool]:
        """Yield who may go, from the lowest priority on that is enough; the last has all."""
        here = self._here & ~self._roster.guarded if unguarded else self._here
        prices = self._roster.prices_of(here)
        pools = [Pool(price, unguarded) for price in prices]
        low, high = 0, len(pools) - 1
        while low < high:
            middle = (low + high) // 2
            if self._fits_without(self._roster.of(pools[middle], here)):
                high = middle
            else:
                low = middle + 1
        yield from pools[low:]

    def _from(self, pool: Pool) -> Victims | None:
        slots = self._slots()
        closures = Closures(self._roster, slots, pool, self._here)
        ask, needed = self._preemptor.largest_class
        while closures.take(needed, (ask, self.candidate.place, pool)):
            if self._fits(closures.victims):
                return closures.victims
            needed = slots.total + 1
        everyone = self._tolls.with_gangs(self._roster.victims(self._roster.of(pool, self._here)))
        return everyone if everyone is not None and self._fits(everyone) else None

    def _reprieved(self, victims: Victims) -> Victims:
        """Put back whoever can be spared, the most valuable first."""
        slots = self._slots()
        losses = self._tolls.losses(victims)
        slots.evict(losses)
        _, needed = self._preemptor.largest_class
        for loss in self._tolls.most_valuable_first(losses):
            # Without slots enough for the largest class there is no need to look closer.
            if slots.total_with([loss]) < needed:
                continue
            fewer = {uid: each for uid, each in victims.items() if uid not in loss.uids}
            if self._fits(fewer):
                slots.restore([loss])
                victims = fewer
        return victims
