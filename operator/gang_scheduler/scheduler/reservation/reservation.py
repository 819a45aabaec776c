"""One reservation: the nodes of the gang, and the room that later gangs may use until it starts.

A reservation keeps a calculation of the cluster at its start, with the gang in its place. Later
decisions are added to that calculation, unless their gangs will have ended by then. So a later gang
that still fits in it delays nothing.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from gang_scheduler.model.bound_pods import BoundGang, BoundPod, BoundPods
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.plan import Bind, Reservation
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.anywhere import Placement, assume_again, place_on, release
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.quota.charges import add_up
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.trial import Share, Trial
from gang_scheduler.scheduler.turns.requests import FlavorAssignment, Request
from gang_scheduler.scheduler.units import PlacementUnit

# The gangs that hold room or quota, in the order of their expected ends. Gangs with unknown ends
# come last, the one with the oldest start first.

Seat = tuple[PodClass, int]
"""A pod by its class, and the row of its node."""


@dataclass(frozen=True, eq=False)
class Release:
    """The room and quota that become free once a gang has ended.

    Times are in seconds. `ends_at` is None if the end is not known. `nominated`: the pods are not
    on their nodes yet. Without a `gang`, the pods are leaving already, and the release comes first.
    """

    gang: GangKey | None
    ends_at: int | None
    started_at: int
    seats: tuple[Seat, ...]
    charges: tuple[tuple[QueueRef, Charge], ...] = ()
    nominated: bool = False

    @functools.cached_property
    def key(self) -> tuple[bool, bool, int, str]:
        """The sort key, computed once; the last part only makes the order unique."""
        known = self.ends_at is not None
        when = self.started_at if self.ends_at is None else self.ends_at
        return self.gang is not None, not known, when, str(self.gang or "")

    @functools.cached_property
    def others(self) -> tuple[Seat, ...]:
        """The pods that take more on a node than resources."""
        return tuple(each for each in self.seats if not _is_plain(each[0]))

    def room(self, nodes: NodeTable) -> tuple[IntArray, IntArray]:
        """Return the rows of all other pods, and their requests. Computed once for a table."""
        known: tuple[NodeTable, tuple[IntArray, IntArray]] | None = self.__dict__.get("_room")
        if known is None or known[0] is not nodes:
            plain = [each for each in self.seats if _is_plain(each[0])]
            rows = np.array([row for _, row in plain], dtype=np.int64)
            vectors = {each: nodes.vector(each.requests) for each, _ in plain}
            requests = np.array([vectors[each] for each, _ in plain], dtype=np.int64)
            known = nodes, (rows, requests.reshape(len(rows), len(nodes.resources)))
            self.__dict__["_room"] = known
        return known[1]


@dataclass(frozen=True, slots=True)
class Clock:
    """The time, and how far ahead expected ends are trusted; in seconds."""

    now: int
    window: int

    def believed(self, ends_at: int | None) -> int | None:
        """Return an end if it is near enough to be trusted, but never a time in the past."""
        if ends_at is None or ends_at > self.now + self.window:
            return None
        return max(ends_at, self.now)

    def end_of(self, group: GangGroup) -> int | None:
        """Return when a group that starts now will end; None if that is unknown."""
        durations = [gang.duration for gang in group.waiting]
        known = [each for each in durations if each is not None]
        if len(known) < len(durations):
            return None
        return self.believed(self.now + max(known))


class Running:
    """The gangs on nodes. What each holds is computed once, and again when it loses pods."""

    def __init__(self, bound_pods: BoundPods, nodes: NodeTable, clock: Clock) -> None:
        self._bound_pods = bound_pods
        self._nodes = nodes
        self._clock = clock
        self._victims: set[str] = set()
        self._leaving = [*bound_pods.leaving]
        self._by_gang: dict[GangKey | None, Release] = {}
        for key in bound_pods.gangs:
            self._work_out(key)
        self._sum_up()

    def releases(self, victims: Sequence[BoundPod]) -> Iterable[Release]:
        """Return the releases of all gangs, and one release for all pods that are leaving already.

        Pinned pods never end. `victims` are leaving, too; each call must repeat the victims of the
        last one and may add more.
        """
        new = victims[len(self._victims) :]
        if new:
            self._victims.update(each.pod.uid for each in new)
            self._leaving += new
            for key in dict.fromkeys(each.gang for each in new):
                self._work_out(key)
            self._sum_up()
        return self._by_gang.values()

    def _work_out(self, key: GangKey) -> None:
        """Note the room and quota that a gang on nodes holds, unless none of its pods ever ends."""
        self._by_gang.pop(key, None)
        gang = self._bound_pods.gangs.get(key)
        if gang is None:
            return
        ends_at = self._clock.believed(gang.known.ends_at)
        if self._victims:
            release = self._release(gang, ends_at)
        else:
            # Of very many gangs, hardly any changes from cycle to cycle.
            basis = (self._nodes, ends_at)
            release = gang.derive("release", basis, lambda gang: self._release(gang, ends_at))
        if release is not None:
            self._by_gang[key] = release

    def _release(self, gang: BoundGang, ends_at: int | None) -> Release | None:
        """Return what the pods of a gang release that are no victims."""
        pods = gang.pods
        some = [each for each in pods if not (each.pod.pinned or each.pod.uid in self._victims)]
        if not some:
            return None
        began = gang.known.started_at or _start(some)
        seats, charges = _seats(some, self._nodes.rows), _charges(some, self._bound_pods)
        return Release(some[0].gang, ends_at, began, seats, charges)

    def _sum_up(self) -> None:
        """Note the room and quota of the pods that are leaving already."""
        if self._leaving:
            now = self._clock.now
            self._by_gang[None] = of_victims(self._leaving, self._bound_pods, self._nodes.rows, now)


def of_victims(
    victims: Iterable[BoundPod], bound_pods: BoundPods, rows: Mapping[str, int], now: int
) -> Release:
    """Return the room and quota that victims release."""
    some = [*victims]
    return Release(None, now, now, _seats(some, rows), _charges(some, bound_pods))


def _seats(pods: Iterable[BoundPod], rows: Mapping[str, int]) -> tuple[Seat, ...]:
    return tuple(
        [(each.pod.pod_class, rows[each.pod.node]) for each in pods if each.pod.node in rows]
    )


def _charges(
    pods: Iterable[BoundPod], bound_pods: BoundPods
) -> tuple[tuple[QueueRef, Charge], ...]:
    """Return the charges of pods by queue."""
    charged, sums = bound_pods.charged, dict[QueueRef, dict[FlavorResource, int]]()
    for each in pods:
        if each.pod.uid in charged:
            ref, charge = charged[each.pod.uid]
            add_up(sums, ref, charge)
    return tuple(sums.items())


def _start(pods: Iterable[BoundPod]) -> int:
    times = (each.pod.ran_since for each in pods)
    return int(min(times))


# Future room and quota: the calculation treats the holdings of the first gangs of a sequence as
# free.

SPENT: Final = effort.MOST_LOOKS - 1_600
"""These looks count as used when a search begins, so that 800 are left: 40 milliseconds."""

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


class Sum:
    """The sum of what some gangs hold. Changing it to other gangs costs only the difference."""

    def __init__(self, nodes: NodeTable) -> None:
        self.room: IntArray = np.zeros((len(nodes), len(nodes.resources)), dtype=np.int64)
        """For each node, the resources of pods that take nothing else."""
        self.charges: dict[QueueRef, dict[FlavorResource, int]] = {}
        self._others: dict[tuple[PodClass, bool], Counter[int]] = {}
        self._nodes = nodes
        self._of: dict[int, Release] = {}

    def become(self, releases: Sequence[Release]) -> None:
        """Become the sum of these gangs."""
        wanted = {id(each): each for each in releases}
        self._add([each for key, each in self._of.items() if key not in wanted], -1)
        self._add([each for key, each in wanted.items() if key not in self._of], 1)
        self._of = wanted

    def shares(self) -> list[Share]:
        """Return the room of pods that take more than resources, for each class."""
        return [
            Share(pod_class, np.array([*rows]), np.array([*rows.values()]), nominated)
            for (pod_class, nominated), rows in self._others.items()
            if rows
        ]

    def __len__(self) -> int:
        return len(self._of)

    def _add(self, releases: Iterable[Release], sign: int) -> None:
        plain = []
        for each in releases:
            plain.append(each.room(self._nodes))
            for ref, charge in each.charges:
                add_up(self.charges, ref, charge, sign)
            for pod_class, row in each.others:
                others = self._others.setdefault((pod_class, each.nominated), Counter())
                others[row] += sign
                if not others[row]:
                    del others[row]
        if plain:
            rows, requests = (np.concatenate(each) for each in zip(*plain, strict=True))
            np.add.at(self.room, rows, sign * requests)


def _is_plain(pod_class: PodClass) -> bool:
    """Return whether pods of a class take nothing but resources on a node."""
    return not (pod_class.host_ports or pod_class.selected_by) and (
        pod_class.pod_affinity is None and pod_class.storage is None
    )


class FutureRoom:
    """A copy of a trial and of the charges in which the first `place` gangs have ended.

    At first the gangs of `ended` have.
    """

    def __init__(
        self,
        trial: Trial,
        forest: Forest,
        profile: Profile,
        releases: Sequence[Release],
        ended: Sum | None = None,
    ) -> None:
        self.trial = trial.copy()
        self.forest = forest.copy()
        self.releases = releases
        self.place = 0
        self.looks = 0
        """How many looks all searches have used."""
        self._profile = profile
        if ended is not None:
            self._end(ended)
            self.place = len(ended)

    def go_to(self, place: int) -> None:
        """Move the snapshot to the moment when this many gangs have ended.

        Costs as much as the difference.
        """
        low, high = sorted((self.place, place))
        some = self.releases[low:high]
        if place > self.place:
            self.end(some)
        else:
            self.bring_back(some)
        self.place = place

    def end(self, some: Sequence[Release]) -> None:
        """Free the room and quota of these gangs."""
        self._end(self._sum(some))

    def _end(self, held: Sum) -> None:
        self.trial.free_up(held.room)
        for share in held.shares():
            self.trial.release(share)
        for ref, charge in held.charges.items():
            self.forest.release(ref, charge)

    def bring_back(self, some: Sequence[Release]) -> None:
        """Do the opposite."""
        held = self._sum(some)
        self.trial.free_up(-held.room)
        for share in held.shares():
            self.trial.assume(share)
        for ref, charge in held.charges.items():
            self.forest.charge(ref, charge)

    def _sum(self, some: Sequence[Release]) -> Sum:
        held = Sum(self.trial.nodes)
        held.become(some)
        return held

    def find(
        self, request: Request, assignments: Sequence[FlavorAssignment], units_of: Units
    ) -> Fit | None:
        """Return the first assignment with quota and room; nothing is taken.

        Once all looks are used up, the result is None: a start that was found before is then at
        worst later than necessary. A gang with several flavors may have a hundred assignments.
        """
        self.trial.open_spare(replacing=request.group.replacing)
        for assignment in assignments:
            if self.looks >= MOST_LOOKS:
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
        """Do the opposite."""
        for placement in fit.placements.values():
            release(placement, self.trial)
        self.forest.release(fit.ref, fit.assignment.charge)

    def _placements(
        self, units: Sequence[PlacementUnit]
    ) -> Mapping[PlacementUnit, Placement] | None:
        trial, profile = self.trial, self._profile
        asked = tuple(unit for unit in units if unit.quorum)
        trial.effort = Effort(spent=SPENT)
        try:
            if not self._may_fit(asked):
                return None
            with trial.all_or_nothing():
                outcome = Quorums(trial, profile, explained=False).in_any_order(asked)
        finally:
            classes = sum(len(unit.classes) for unit in asked)
            self.looks += trial.effort.spent - SPENT + effort.looks(len(trial.nodes), classes)
        return outcome if isinstance(outcome, dict) else None

    def _may_fit(self, asked: Sequence[PlacementUnit]) -> bool:
        """Return False if it is certain, and cheap to see, that units do not fit."""
        for unit in asked:
            if len(unit.classes) == 1 and not interdependent.are(
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

    `turn` is when it was tried. `ended` is the sum of the gangs that will have ended by then.
    `start` is in seconds, None if it is not known. `borrows`: its queue will be over its own quota.
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
        units_of: Units,
        profile: Profile,
    ) -> None:
        self.request = request
        self.assignments = assignments
        self.fit = fit
        self.future_room = future_room
        self.ended = ended
        self.turn = turn
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
        """The key of its first gang, which identifies it."""
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
        """Within the block, count victims as gone that would be there at the start."""
        future_room, before = self.future_room, self.fit
        future_room.end([victims])
        try:
            yield
        finally:
            future_room.give_back(self.fit)
            self.fit = before
            future_room.take(before)
            future_room.bring_back([victims])

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
        """Return whether the gang fits elsewhere at its start; if so, it is there from now on."""
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
