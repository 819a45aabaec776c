"""One reservation: the nodes of the gang, and the room that later gangs may use until it starts.

A reservation keeps a calculation of the cluster at its start, with the gang in its place. Later
decisions are added to that calculation, unless their gangs will have ended by then. So a later gang
that still fits in it delays nothing.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Bind, Reservation
from gang_scheduler.model.pods import one_of_each
from gang_scheduler.model.queues import Charge, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.anywhere import assume_again, place_on, release
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, with_quorum
from gang_scheduler.scheduler.pod_affinity import number_of_columns
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reservation.releases import Release, Sum
from gang_scheduler.scheduler.trial import COLUMNS_A_LOOK, Placement, Share, Trial
from gang_scheduler.scheduler.turns.requests import FlavorAssignment, Request

SPENT: Final = effort.MOST_LOOKS - 1_600
"""These looks count as used when a search begins, so that 800 are left: 40 milliseconds."""

WORK: Final = 1_600
"""A search also stops after this much work of any kind, in looks."""
USES_A_LOOK: Final = 20
"""This many uses of claims are ended, or begun again, in the time of one look."""
MOST_LOOKS: Final = 4_000
"""Once this many looks are used, no more starts are searched: about 200 milliseconds."""

Units = Callable[[FlavorAssignment], Sequence[PlacementUnit]]
"""The units of an assignment, on the nodes of their flavors."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The places of a gang at a later moment, and its charge there."""

    ref: QueueRef
    assignment: FlavorAssignment
    placements: Mapping[PlacementUnit, Placement]


def asks_for_devices(group: GangGroup) -> bool:
    """Return whether members of a group wait for claims to get devices."""
    classes = (pod.pod_class for gang in group.waiting for pod in one_of_each(gang.pending))
    return any(each.devices is not None and each.devices.are_open for each in classes)


class FutureRoom:
    """A copy of a trial and of the charges, in which the gangs of the first releases have ended.

    `place` is the number of these releases. At first the gangs of `ended` have ended. Devices of
    claims become free only if `with_devices`: no gang without claims waits for them.
    """

    def __init__(
        self,
        trial: Trial,
        forest: Forest,
        profile: Profile,
        releases: Sequence[Release],
        ended: Sum | None = None,
        *,
        with_devices: bool,
    ) -> None:
        self.trial = trial.copy()
        self.forest = forest.copy()
        self.releases = releases
        self.place = 0
        self._looks = 0
        self._columns = 0
        """How many columns of pod affinity have changed with gangs that end."""
        self._profile = profile
        self._with_devices = with_devices and trial.devices.are_claimed
        if ended is not None:
            self._end(ended)
            self.place = len(ended)

    @property
    def looks(self) -> int:
        """How many looks all searches have used."""
        return self._looks + self._columns // COLUMNS_A_LOOK

    @property
    def is_used_up(self) -> bool:
        """Whether all looks are used up: that nothing is found means nothing then."""
        return self._looks >= MOST_LOOKS

    def advance_to(self, place: int) -> None:
        """Move to the moment when this many gangs have ended. Costs as much as the difference."""
        low, high = sorted((self.place, place))
        some = self.releases[low:high]
        if place > self.place:
            self.end(some)
        else:
            self.restore(some)
        self.place = place

    def end(self, some: Sequence[Release]) -> None:
        """Free the room, quota and devices of these gangs."""
        self._end(self._sum(some))

    def _end(self, held: Sum) -> None:
        self.trial.free_up(held.room)
        for share in held.shares():
            self.trial.release(share)
            self._count(share)
        for ref, charge in held.charges.items():
            self.forest.release(ref, charge)
        self._use_claims(held, -1)

    def _use_claims(self, held: Sum, sign: int) -> None:
        """Let the pods of gangs leave their claims (sign -1), or use them again (1)."""
        if self._with_devices:
            uses = held.uses()
            self.trial.devices.use(uses, sign)
            self._looks += len(uses) // USES_A_LOOK

    def restore(self, some: Sequence[Release]) -> None:
        """Take the room, quota and devices of these gangs again: the opposite of `end`."""
        held = self._sum(some)
        self.trial.free_up(-held.room)
        for share in held.shares():
            self.trial.assume(share)
            self._count(share)
        for ref, charge in held.charges.items():
            self.forest.charge(ref, charge)
        self._use_claims(held, 1)

    def _count(self, share: Share) -> None:
        pod_class = share.pod_class
        if pod_class.selected_by or pod_class.pod_affinity is not None:
            self._columns += number_of_columns(pod_class)

    def _sum(self, some: Sequence[Release]) -> Sum:
        held = Sum(self.trial.nodes)
        held.replace_with(some)
        return held

    def find(
        self, request: Request, assignments: Sequence[FlavorAssignment], units_of: Units
    ) -> Fit | None:
        """Return the first assignment with quota and room; nothing is taken.

        Once all looks are used up, the result is None: a start that was found before is then at
        worst later than necessary. A gang with several flavors may have a hundred assignments.
        """
        self.trial.open_spare(replacing=request.group.replacing)
        self.trial.devices.next_gang()
        for assignment in assignments:
            # Looks for columns do not count: the terms of pods that end must not prevent other
            # promises.
            if self.is_used_up:
                return None
            if self.forest.fits(request.ref, assignment.charge):
                placements = self._placements(units_of(assignment))
                if placements is not None:
                    return Fit(request.ref, assignment, placements)
        return None

    def take(self, fit: Fit) -> None:
        """Take the room and the quota of a gang."""
        for placement in fit.placements.values():
            assume_again(placement, self.trial)
        self.forest.charge(fit.ref, fit.assignment.charge)

    def give_back(self, fit: Fit) -> None:
        """Free the room and the quota of a gang: the opposite of `take`."""
        for placement in fit.placements.values():
            release(placement, self.trial)
        self.forest.release(fit.ref, fit.assignment.charge)

    def _placements(
        self, units: Sequence[PlacementUnit]
    ) -> Mapping[PlacementUnit, Placement] | None:
        trial, profile = self.trial, self._profile
        asked = with_quorum(units)
        trial.effort = Effort(spent=SPENT, work=WORK)
        try:
            if not self._may_fit(asked):
                return None
            with trial.all_or_nothing():
                outcome = Quorums(trial, profile, explained=False).in_any_order(asked)
        finally:
            classes = sum(len(unit.classes) for unit in asked)
            looks = trial.effort.spent - SPENT + effort.looks(len(trial.nodes), classes)
            self._looks += max(looks, round(trial.effort.done))
        return outcome if isinstance(outcome, dict) else None

    def _may_fit(self, asked: Sequence[PlacementUnit]) -> bool:
        """Return False if it is certain, and cheap to see, that units do not fit."""
        for unit in asked:
            if len(unit.classes) == 1 and not interdependent.depend_on_each_other(
                unit.classes, self.trial, self._profile
            ):
                (pod_class,) = unit.classes
                slots = offer_slots(pod_class, self.trial, self._profile)
                if int(slots.clip(min=0, max=unit.at_least).sum()) < unit.at_least:
                    return False
        return True


NOTHING: Final = Placement((), ())


class Promise:
    """A gang that does not fit yet, and the room at its start.

    `turn` is the number of its turn. `ended` is the sum of the gangs that will have ended when it
    starts. `start` is in seconds, None if it is not known. `borrows`: its queue will be over its
    own quota. `in_own_hands`: it has waited for long, for gangs of its own namespace.
    """

    def __init__(
        self,
        request: Request,
        assignments: Sequence[FlavorAssignment],
        fit: Fit,
        future_room: FutureRoom,
        ended: Sum,
        *,
        turn: int,
        in_own_hands: bool,
        units_of: Units,
        profile: Profile,
    ) -> None:
        self.request = request
        self.assignments = assignments
        self.fit = fit
        self.future_room = future_room
        self.ended = ended
        self.turn = turn
        self.in_own_hands = in_own_hands
        self.is_stale = False
        """The gang no longer has a place in its future room: look for another start."""
        self.last = future_room.releases[future_room.place - 1] if future_room.place else None
        """The last gang to end before the reserved gang can start."""
        self.start = None if self.last is None else self.last.ends_at
        self.after = None if self.last is None else self.last.gang
        self.borrows = future_room.forest.borrows(request.ref, fit.assignment.charge)
        self._place = future_room.place
        self._units_of = units_of
        self._profile = profile
        future_room.take(fit)

    @functools.cached_property
    def _ended(self) -> frozenset[GangKey | None]:
        return frozenset(each.gang for each in self.future_room.releases[: self._place])

    @functools.cached_property
    def _there(self) -> frozenset[GangKey | None]:
        return frozenset(each.gang for each in self.future_room.releases[self._place :])

    @property
    def key(self) -> GangKey:
        """The key of its first gang, which identifies the promise."""
        return self.request.group.waiting[0].key

    def shown(self, *, hides_names: bool) -> Reservation:
        """Return the reservation for users; `hides_names` hides gangs of other namespaces."""
        pods = (bind.pod for each in self.fit.placements.values() for bind in each.binds)
        flavors = {pair for pod in pods for pair in self.fit.assignment.option.flavors_of(pod)}
        waiting = self.request.group.waiting
        after = self.after
        if hides_names and after is not None and after.namespace != self.key.namespace:
            after = None
        return Reservation(waiting, self.start, after, tuple(sorted(flavors)))

    def is_gone(self, gang: GangKey, ends_at: int | None) -> bool:
        """Return whether a gang will have ended by the promised start.

        An unknown end comes after all others.
        """
        if gang in self._ended or gang in self._there:
            return gang in self._ended
        return ends_at is not None and (self.start is None or ends_at <= self.start)

    def has_ended(self, gang: GangKey) -> bool:
        """Return whether a gang that holds room now will have ended at the start."""
        return gang in self._ended

    @contextmanager
    def without(self, victims: Release) -> Iterator[None]:
        """Within the block, count victims as gone that would otherwise run at the start."""
        future_room, before = self.future_room, self.fit
        future_room.end([victims])
        try:
            yield
        finally:
            future_room.give_back(self.fit)
            self.fit = before
            future_room.take(before)
            future_room.restore([victims])

    def leaves_alone(self, placements: Iterable[Placement], ref: QueueRef, charge: Charge) -> bool:
        """Return whether another gang can start without taking this one's room or quota."""
        if not self.future_room.forest.fits(ref, charge) or self._depends():
            return False
        with self.future_room.trial.all_or_nothing():
            return all(
                place_on(each.binds, self.future_room.trial, self._profile) is not None
                for each in placements
                if each.binds
            )

    def moves_aside(self, placements: Sequence[Placement], ref: QueueRef, charge: Charge) -> bool:
        """Return whether the gang fits elsewhere at its start; if so, it keeps these places."""
        future_room, before = self.future_room, self.fit
        future_room.give_back(before)
        for each in placements:
            assume_again(each, future_room.trial)
        future_room.forest.charge(ref, charge)
        found = future_room.find(self.request, self.assignments, self._units_of)
        future_room.forest.release(ref, charge)
        for each in placements:
            release(each, future_room.trial)
        self.fit = found or before
        future_room.take(self.fit)
        return found is not None

    def put(self, before: Placement | None, after: Placement) -> None:
        """Record the new places of members in the future room."""
        release(before or NOTHING, self.future_room.trial)
        assume_again(after, self.future_room.trial)
        free = self.future_room.trial.free
        if any((free[share.rows] < 0).any() for share in after.shares):
            self.is_stale = True

    def charge(self, ref: QueueRef, before: Charge, after: Charge) -> None:
        """Replace the charge of members in the future room."""
        forest = self.future_room.forest
        forest.release(ref, before)
        forest.charge(ref, after)
        own = self.request.ref
        if any(
            forest.available(own, key) < 0 for key, n in self.fit.assignment.charge.items() if n
        ):
            self.is_stale = True

    def _depends(self) -> bool:
        """Return whether members of the gang depend on pods near them, by pod affinity."""
        binds: Iterable[Bind] = (
            bind for each in self.fit.placements.values() for bind in each.binds
        )
        classes = {bind.pod.pod_class for bind in binds}
        return any(each.pod_affinity is not None for each in classes)
