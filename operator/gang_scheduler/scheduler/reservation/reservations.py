"""The reservations of one cycle, and which later gangs may start before them."""

import functools
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

import numpy as np

from gang_scheduler.model.bound_pods import BoundPod, BoundPods
from gang_scheduler.model.causes.queues import DelaysReserved
from gang_scheduler.model.evictions import Backfilled
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Refused, Reservation
from gang_scheduler.model.queues import NONE, Charge, QueueRef
from gang_scheduler.model.reasons import PROMISED
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.evaluator import PreemptionEvaluator
from gang_scheduler.scheduler.reservation.between_namespaces import BetweenNamespaces, Trials
from gang_scheduler.scheduler.reservation.promise import (
    MOST_LOOKS,
    Fit,
    FutureRoom,
    Promise,
    Units,
    asks_for_devices,
)
from gang_scheduler.scheduler.reservation.releases import (
    Clock,
    Release,
    Running,
    Sum,
    release_of_victims,
)
from gang_scheduler.scheduler.trial import Placement, Trial
from gang_scheduler.scheduler.turns import limits
from gang_scheduler.scheduler.turns.ledger import Ledger
from gang_scheduler.scheduler.turns.requests import FlavorAssignment, Request

MOST_CANDIDATES: Final = 16
"""A start is searched for at most this many gangs in a cycle, besides those that had one."""
MOST_IN_VAIN: Final = 4
"""Once this many searches for gangs of a namespace found no start, its other gangs wait a cycle."""
LOOKS_OF_ONE: Final = MOST_LOOKS // 2
"""Once searches for gangs of a namespace took this many looks, its other gangs wait a cycle.

Looks beyond this number do not count against other namespaces.
"""
RELEASES_A_LOOK: Final = 20
"""Sorting this many gangs that hold room takes one look."""


@dataclass(frozen=True, slots=True, eq=False)
class ChargedPlacement:
    """Members that a cycle has placed or nominated, and their charge."""

    group: GangGroup
    placement: Placement
    charge: Charge


@dataclass(frozen=True, slots=True, eq=False)
class Eviction:
    """The places and the charge of members once the victims have gone.

    `within`: their queue does not borrow then.
    """

    placements: Sequence[Placement]
    charge: Charge
    victims: Sequence[BoundPod]
    within: bool


class Reservations:
    """The reservations of one cycle, in the order of turns. A limit of 0 allows none."""

    def __init__(
        self,
        snapshot: Snapshot,
        profile: Profile,
        trial: Trial,
        ledger: Ledger,
        evaluator: PreemptionEvaluator,
        *,
        units_of: Units,
    ) -> None:
        self._snapshot = snapshot
        self._bound_pods = snapshot.bound_pods or BoundPods()
        self._profile = profile
        self._trial = trial
        self._ledger = ledger
        self._evaluator = evaluator
        self._units_of = units_of
        self._rules = profile.rules.promises
        self._hides_names = profile.rules.preemption.hide_foreign_names
        self._clock = Clock(snapshot.taken_at, self._rules.backfill_window_seconds)
        self._promises: list[Promise] = []
        self._turns: dict[GangKey, int] = {}
        self._decided: dict[GangKey, dict[PlacementUnit, ChargedPlacement]] = {}
        self._held: dict[GangKey, Release | None] = {}
        self._nominated: dict[GangKey, tuple[Request, FlavorAssignment]] = {}
        self._candidates = 0
        self._looks: Counter[str] = Counter()
        """How many looks the searches for gangs of a namespace took."""
        self._namespaces = BetweenNamespaces(snapshot, self._rules.reservations, self._clock)
        self._in_vain: Counter[str] = Counter()
        """For how many gangs of a namespace no start was found."""
        self.without_start: set[GangKey] = set()
        """The groups for which no start was found, by their first gangs."""
        self.trials = Trials()
        self.backfilled: dict[GangKey, Backfilled] = {}
        """The groups that are backfilled because of their declared ends, by their first gangs."""

    # Making reservations.

    @property
    def may_give_more(self) -> bool:
        """Whether this cycle may still promise a start to any group."""
        return self._namespaces.may_give_more(len(self._promises))

    def may_get_one(self, group: GangGroup, after: int | None) -> bool:
        """Return whether a group has waited long enough to be promised a start.

        `after` is how long it must wait, in seconds; None: as long as the settings say.
        """
        if not (
            self.may_give_more and self._namespaces.has_place(group, self._promises)
        ) or self._is_tired(group):
            return False
        least = self._rules.reservation_after_seconds if after is None else after
        if self._clock.now - group.created_at < least:
            return False
        return all(gang.key not in self._snapshot.resting for gang in group.gangs)

    def note_turn(self, request: Request, refused: Refused | None) -> None:
        """Note the turn of a group; promise it a start if it has waited long enough."""
        key = request.group.gangs[0].key
        turn = self._turns.setdefault(key, len(self._turns))
        rules = request.queue.reservations
        if refused is None or refused.reason not in PROMISED or refused.left_over:
            return
        if request.holds or not (rules.enabled and self._ledger.enforces(request.ref)):
            return
        if self.may_get_one(request.group, rules.after_seconds):
            self._candidates += 1
            self._reserve(request, turn)

    def all(self) -> tuple[Reservation, ...]:
        """Return the reservations, in the order of turns."""
        self.refresh()
        return tuple(each.shown(hides_names=self._hides_names) for each in self._promises)

    def _is_tired(self, group: GangGroup) -> bool:
        """Return whether a start is no longer searched for a group in this cycle.

        A promise stands even if other gangs ask for places that never become free.
        """
        key = group.gangs[0].key
        if key in self._snapshot.promised:
            return False
        looks = sum(min(each, LOOKS_OF_ONE) for each in self._looks.values())
        if self._candidates >= MOST_CANDIDATES or looks >= MOST_LOOKS:
            return True
        own = key.namespace
        return self._in_vain[own] >= MOST_IN_VAIN or self._looks[own] >= LOOKS_OF_ONE

    def _reserve(self, request: Request, turn: int, before: Promise | None = None) -> None:
        """Find the earliest place in the sequence of releases at which a group fits; promise it.

        `before` is an earlier promise of this cycle; the place is most often the same.
        """
        assignments = [
            assignment
            for assignment in request.assignments
            if not limits.admission_checks(request.queue, assignment.option.names)
        ]
        releases = self._releases(request.group)
        ended = before.ended if before is not None else Sum(self._trial.nodes)
        known = self._known_place(releases, request, before)
        ended.replace_with(releases[: known or 0])
        asking = (request.group, *(each.request.group for each in self._promises))
        future_room = FutureRoom(
            *(self._trial, self._ledger.forest, self._profile, releases, ended),
            with_devices=any(map(asks_for_devices, asking)),
        )
        find = functools.partial(self._fit_at, future_room, request, assignments)
        low = self._with_earlier(future_room, request.group) - 1
        found = _first(len(releases), low, known, find)
        in_own_hands = found is not None and self._namespaces.is_in_own_hands(
            future_room, request.group, find
        )
        looks = future_room.looks + len(releases) // RELEASES_A_LOOK
        self._looks[request.group.gangs[0].key.namespace] += looks
        self._trial.effort.count(looks)
        if found is None:
            key = request.group.gangs[0].key
            self._in_vain[key.namespace] += 1
            self.without_start.add(key)
        else:
            place, fit = found
            future_room.advance_to(place)
            ended.replace_with(releases[:place])
            promise = Promise(
                *(request, assignments, fit, future_room, ended),
                turn=turn,
                in_own_hands=in_own_hands,
                units_of=self._units_of,
                profile=self._profile,
            )
            self._promises.append(promise)

    def _fit_at(
        self,
        future_room: FutureRoom,
        request: Request,
        assignments: Sequence[FlavorAssignment],
        place: int,
    ) -> Fit | None:
        future_room.advance_to(place)
        return future_room.find(request, assignments, self._units_of)

    def _known_place(
        self, releases: Sequence[Release], request: Request, before: Promise | None
    ) -> int | None:
        """Return where a start was found last, in this cycle or an earlier one; None if nowhere."""
        if before is not None:
            return _place_in(releases, before)
        promised = self._snapshot.promised.get(request.group.gangs[0].key)
        if promised is None:
            return None
        places = (n for n, each in enumerate(releases, start=1) if each.gang == promised.after)
        return next(places, None)

    def _with_earlier(self, future_room: FutureRoom, group: GangGroup) -> int:
        """Put the gangs of earlier reservations in their places.

        Return the number of releases after which all of these gangs have started.
        """
        starts = [0]
        for each in self._promises:
            if self._namespaces.comes_later(each, group):
                continue
            future_room.take(each.fit)
            ended = each.after
            found = (n for n, one in enumerate(future_room.releases, start=1) if one.gang == ended)
            starts.append(next(found, 0) if each.future_room.place else 0)
        return max(starts)

    def _releases(self, group: GangGroup) -> list[Release]:
        """Return the sequence of releases: gangs on nodes, decided gangs, and promised gangs.

        Of the latter only those that start before a group.
        """
        nodes = self._trial.nodes
        found = [
            *self._running.releases(self._evaluator.departures.victims),
            *self._releases_of_decided(nodes),
            *self._releases_of_nominated(self._bound_pods, nodes),
            *(
                each
                for promise in self._promises
                if not self._namespaces.comes_later(promise, group)
                for each in self._releases_of_promised(promise, nodes)
            ),
        ]
        return sorted(found, key=attrgetter("key"))

    @functools.cached_property
    def _running(self) -> Running:
        ending = self._trial.devices.ending
        return Running(self._bound_pods, self._trial.nodes, self._clock, ending)

    def _releases_of_decided(self, nodes: NodeTable) -> Iterator[Release]:
        """Yield the releases of decided groups.

        A release is computed again only when more of its group is decided.
        """
        for key, units in self._decided.items():
            if key not in self._held:
                parts = [each for each in units.values() if each.placement.binds]
                self._held[key] = self._held_by(key, parts, nodes) if parts else None
            held = self._held[key]
            if held is not None:
                yield held

    def _held_by(
        self, key: GangKey, parts: Sequence[ChargedPlacement], nodes: NodeTable
    ) -> Release:
        group = parts[0].group
        binds = (bind for each in parts for bind in each.placement.binds)
        seats = tuple((bind.pod.pod_class, nodes.rows[bind.node]) for bind in binds)
        charges = tuple((group.queue or NONE, each.charge) for each in parts)
        return Release(nodes, key, self._clock.end_of(group), self._clock.now, seats, charges)

    def _releases_of_nominated(self, bound_pods: BoundPods, nodes: NodeTable) -> Iterator[Release]:
        by_gang: dict[GangKey, list[Nominated]] = {}
        for each in self._evaluator.nominated_room.all():
            by_gang.setdefault(each.gang, []).append(each)
        for key, pods in by_gang.items():
            seats = tuple((each.pod.pod_class, nodes.rows[each.pod.nominated]) for each in pods)
            charged = (bound_pods.charged.get(each.pod.uid) for each in pods)
            charges = [each for each in charged if each is not None]
            ends_at = None
            if key in self._nominated:
                request, assignment = self._nominated[key]
                charges, ends_at = (
                    [(request.ref, assignment.charge)],
                    self._clock.end_of(request.group),
                )
            yield Release(
                nodes, key, ends_at, self._clock.now, seats, tuple(charges), nominated=True
            )

    def _releases_of_promised(self, promise: Promise, nodes: NodeTable) -> Iterator[Release]:
        """Yield the end of a promised gang, so that the next one may come after it."""
        ends_at, fit = None, promise.fit
        lasts = self._clock.end_of(promise.request.group)
        if promise.start is not None and lasts is not None:
            ends_at = self._clock.expected_end(promise.start + lasts - self._clock.now)
        binds = [bind for each in fit.placements.values() for bind in each.binds]
        seats = tuple((bind.pod.pod_class, nodes.rows[bind.node]) for bind in binds)
        began = promise.start or self._clock.now
        charges = ((fit.ref, fit.assignment.charge),)
        yield Release(nodes, promise.key, ends_at, began, seats, charges)

    # Keeping reservations.

    def likeness(self, group: GangGroup) -> Hashable | None:
        """Return a key shared by groups that the same promise keeps from starting in the same way.

        None if there is no promise, or more than one.
        """
        if len(self._promises) != 1:
            return None
        (promise,) = self._promises
        if promise.is_stale or any(gang.key == promise.key for gang in group.waiting):
            return None
        return promise, self._is_gone(promise, group), group.waiting[0].key.namespace

    def delayed(
        self, request: Request, assignment: FlavorAssignment, placements: Sequence[Placement]
    ) -> DelaysReserved | None:
        """Return the reserved gang that would be delayed if a group started there; None if none."""
        charge, gone_before = assignment.charge, []
        within = not self._ledger.forest.borrows(request.ref, charge)
        for promise in self._kept_from(request, within=within):
            if promise.leaves_alone(placements, request.ref, charge):
                continue
            if self._is_gone(promise, request.group):
                gone_before.append(promise)
                continue
            if not self._moves_aside(promise, request, (placements, request.ref, charge)):
                return self._cause(promise, request)
            # Promises that start after it still plan with its former place.
            self._outdate(promise)
        self._note_backfilled(request.group, gone_before)
        return None

    def delayed_by_eviction(self, request: Request, eviction: Eviction) -> DelaysReserved | None:
        """Return the reserved gang that an eviction would delay; None if it delays none.

        The promises stay as they are; `nominated` reports evictions that are carried out.
        """
        taken, gone_before = (eviction.placements, request.ref, eviction.charge), []
        for promise in self._kept_from(request, within=eviction.within):
            with promise.without(self._release_of_victims(promise, eviction.victims)):
                if promise.leaves_alone(*taken):
                    continue
                if self._is_gone(promise, request.group):
                    gone_before.append(promise)
                    continue
                if not self._moves_aside(promise, request, taken):
                    return self._cause(promise, request)
        self._note_backfilled(request.group, gone_before)
        return None

    def _moves_aside(
        self,
        promise: Promise,
        request: Request,
        taken: tuple[Sequence[Placement], QueueRef, Charge],
    ) -> bool:
        """Return whether a reserved gang has another place at its start, if that may be tried."""
        with self.trials.one_for(request.group, promise.future_room) as may_try:
            return may_try and promise.moves_aside(*taken)

    def _release_of_victims(self, promise: Promise, victims: Iterable[BoundPod]) -> Release:
        """Return the room of victims that would otherwise still run at the promised start."""
        there = (each for each in victims if not promise.has_ended(each.gang))
        return release_of_victims(there, self._bound_pods, self._trial.nodes, self._clock.now)

    def _cause(self, promise: Promise, request: Request) -> DelaysReserved:
        away = promise.key.namespace != request.group.waiting[0].key.namespace
        key = None if away and self._hides_names else promise.key
        return DelaysReserved(promise.request.ref.name, key, promise.start)

    @contextmanager
    def kept_free(self, group: GangGroup) -> Iterator[None]:
        """Keep the room and quota of reserved gangs free, except from groups that end in time."""
        self.refresh()
        concerned = [
            each
            for each in self._promises
            if not (self._is_gone(each, group) or self._namespaces.gives_way(each, group))
        ]
        if not concerned:
            yield
            return
        left = np.minimum.reduce([each.future_room.trial.free for each in concerned])
        kept = np.maximum(self._trial.free - left, 0)
        self._ledger.promised = tuple(each.future_room.forest for each in concerned)
        self._trial.free -= kept
        try:
            yield
        finally:
            self._trial.free += kept
            self._ledger.promised = ()

    def note_placed(self, unit: PlacementUnit, group: GangGroup, placement: Placement) -> None:
        """Note the new places of members of a unit."""
        if not self._rules.reservations:
            return
        of_group = self._decided.setdefault(group.gangs[0].key, {})
        before = of_group.get(unit)
        self._end(group)
        charge = before.charge if before else {}
        of_group[unit] = ChargedPlacement(group, placement, charge)
        self._held.pop(group.gangs[0].key, None)
        for promise in self._promises:
            if not self._is_gone(promise, group):
                promise.put(before.placement if before else None, placement)

    def charge(self, unit: PlacementUnit, group: GangGroup, before: Charge, after: Charge) -> None:
        """Record the new charge of members of a unit."""
        of_group = self._decided.get(group.gangs[0].key, {})
        known = of_group.get(unit)
        if known is None:
            return
        of_group[unit] = ChargedPlacement(known.group, known.placement, after)
        self._held.pop(group.gangs[0].key, None)
        for promise in self._promises:
            if not self._is_gone(promise, known.group):
                promise.charge(group.queue or NONE, before, after)

    def note_nominated(self, request: Request, assignment: FlavorAssignment) -> None:
        """Note that room will be made for a group, which may delay reserved gangs."""
        if self._rules.reservations:
            self._nominated.update(
                {gang.key: (request, assignment) for gang in request.group.waiting}
            )
            self._end(request.group)
            for promise in self._promises:
                promise.is_stale = True

    def _kept_from(self, request: Request, *, within: bool) -> Iterator[Promise]:
        """Yield the reservations that a group must not delay.

        `within`: its queue does not borrow then.
        """
        if request.holds:
            return
        turn = self._turns.get(request.group.gangs[0].key, len(self._turns))
        own = {gang.key for gang in request.group.waiting}
        within = within and self._ledger.enforces(request.ref)
        for promise in list(self._promises):
            if promise.key in own or turn <= promise.turn or (within and promise.borrows):
                continue
            if not self._namespaces.gives_way(promise, request.group):
                yield promise

    def _is_gone(self, promise: Promise, group: GangGroup) -> bool:
        return promise.is_gone(group.gangs[0].key, self._clock.end_of(group))

    def _note_backfilled(self, group: GangGroup, before: Sequence[Promise]) -> None:
        until = self._clock.end_of(group)
        if before and until is not None:
            self.backfilled[group.gangs[0].key] = Backfilled(until, before[0].key)

    def _end(self, group: GangGroup) -> None:
        """Note that a group has its place and no longer needs a reservation."""
        keys = {gang.key for gang in group.waiting}
        for promise in [each for each in self._promises if each.key in keys]:
            self._outdate(promise)
            self._promises.remove(promise)

    def _outdate(self, promise: Promise) -> None:
        for later in self._promises[self._promises.index(promise) + 1 :]:
            later.is_stale = True

    def refresh(self) -> None:
        """Search again for promised starts that no longer hold, and for all later ones.

        Call it before a group is tried: its room must not be taken yet.
        """
        first = next((n for n, each in enumerate(self._promises) if each.is_stale), None)
        if first is None:
            return
        again, self._promises = self._promises[first:], self._promises[:first]
        for each in again:
            self._reserve(each.request, each.turn, each)


def _place_in(releases: Sequence[Release], before: Promise) -> int:
    """Return the present place of a promise in the releases: after the same release as before."""
    last = before.last
    return 0 if last is None else bisect_right(releases, last.key, key=attrgetter("key"))


def _first(
    last: int, low: int, known: int | None, find: Callable[[int], Fit | None]
) -> tuple[int, Fit] | None:
    """Return the first place above `low` with a fit, by bisection, beginning near a `known` one.

    Bisection is right because more room never takes a group's place away, except where members
    depend on pods near them. From a known place the steps double, since most starts hardly move.
    """
    high = known if known is not None and low < known < last else last
    is_near, fit, step = high < last, find(high), 1
    while fit is None and high < last:
        low, high, step = high, min(high + step, last), 2 * step
        is_near, fit = False, find(high)
    if fit is None:
        return None
    step = 1 if is_near else last
    while high - low > 1:
        middle = max((low + high) // 2, high - step)
        if (found := find(middle)) is None:
            low, step = middle, last
        else:
            high, fit, step = middle, found, 2 * step
    return high, fit
