"""The placement of members that join bound members, each next to its neighbours in rank.

Such members replace members that died, were left unbound by a crash, or are surplus that comes
later. A member goes to the domains of its slices. There it takes the free slot that shares the
deepest domains with the members before and after it in rank.
"""

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from gang_scheduler.model import topology_scope
from gang_scheduler.model.causes.specs import Scattered
from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology_scope import TopologyScope
from gang_scheduler.scheduler.placement import interdependent, positions
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, RankedMembers
from gang_scheduler.scheduler.placement.tree.one_class import (
    Area,
    ClassMembers,
    ClassSeating,
    Seated,
)

DOMAINS_NAMED: Final = 3
"""The most domains of scattered members that a message names."""
SeatParts = Callable[[Sequence[RankedMembers], Area], Seated | None]


def home_of(bound_members: Sequence[Pod], scope: TopologyScope) -> int | None:
    """Return the domain that waiting members must join, which has the most bound members.

    The domain is of the level where all members must gather. None if no bound member is in the
    tree.
    """
    counts = _bound_members_by_domain(bound_members, scope)
    return int(np.argmax(counts)) if counts.any() else None


def scattered(bound_members: Sequence[Pod], scope: TopologyScope) -> Problem | None:
    """Return a problem if bound members are not all in one domain of the level to gather in."""
    counts = _bound_members_by_domain(bound_members, scope)
    places = np.flatnonzero(counts).tolist()
    if len(places) < 2:
        return None
    some = tuple(scope.tree.domain(scope.must, place) for place in places[:DOMAINS_NAMED])
    home = scope.tree.domain(scope.must, int(np.argmax(counts)))
    return Problem(Reason.SCATTERED, Scattered(len(places), some, home))


def _bound_members_by_domain(bound_members: Sequence[Pod], scope: TopologyScope) -> IntArray:
    places = positions.places_of(bound_members, scope.tree)
    level = scope.tree.levels[scope.must]
    return np.bincount(level.at(places[places != ABSENT]), minlength=len(level))


def seat(
    unit: PlacementUnit, at_least: int, area: Area, seating: ClassSeating, seat_parts: SeatParts
) -> Seated | None:
    """Take room for all members that find a slot next to the bound members.

    None if fewer than `at_least` members find one, or if the search takes the work of a whole
    cycle. The search ends as soon as that is certain. `seat_parts` seats slices without a bound
    member.
    """
    seated: Seated = {}
    complete = all(gang.complete for gang in unit.gangs)
    may_lack = len(unit.members) - at_least
    for part in unit.parts:
        numbers = positions.as_first_placed(part, area.tree, complete=complete)
        ranks = _Ranks(part, numbers, area, seating, seat_parts, whole=unit.step > 1)
        for wanted, found in ranks.seat():
            seated |= found
            may_lack -= wanted - len(found)
            if may_lack < 0 or not seating.trial.effort.may_work_on():
                return None
    return seated


class _Ranks:
    """The members of one part in rank order, and for bound members their places in the tree."""

    def __init__(
        self,
        part: RankedMembers,
        numbers: Sequence[int],
        area: Area,
        seating: ClassSeating,
        seat_parts: SeatParts,
        *,
        whole: bool,
    ) -> None:
        self._area = area
        self._seating = seating
        self._seat_parts = seat_parts
        self._whole = whole
        self._sizes = part.sizes
        pod_classes = {pod.pod_class for pod in part.members}
        self._singly = interdependent.depend_on_each_other(
            pod_classes, seating.trial, seating.profile
        )
        self._line = part.in_line()
        self._numbers = numbers
        self._places = positions.places_of(self._line, area.tree)
        self._waits = [not pod.node for pod in self._line]
        self._domains = positions.domains_by_level(area.tree)

    def seat(self) -> Iterator[tuple[int, Seated]]:
        """Seat waiting members in rank order, but slices that lost all their members last.

        Such a slice fits into any domain, and must not take slots that members of other slices
        need. Yields for each stretch the number of its members, and the members that were seated.
        """
        stretches = list(self._stretches())
        for lost_whole in (False, True):
            for start, end in stretches:
                if bool(self._untouched_run(start)) is lost_whole:
                    yield end - start, self._seat_stretch(start, end)

    def _stretches(self) -> Iterator[tuple[int, int]]:
        start = 0
        while start < len(self._line):
            end = self._end_of_stretch(start)
            if self._waits[start]:
                yield start, end
            start = end

    def _end_of_stretch(self, start: int) -> int:
        """Return the end of a stretch: waiting members of one class that belong to the same slices.

        A slice without a placed member is always a stretch of its own, even if its members are of
        several classes.
        """
        run = self._untouched_run(start)
        if run:
            return run.stop
        size = min((size for size in self._sizes if size > 1), default=len(self._line))
        first = self._line[start]
        for end in range(start + 1, len(self._line)):
            alike = self._waits[end] and self._line[end].pod_class == first.pod_class
            together = self._numbers[end] // size == self._numbers[start] // size
            joins = self._waits[start] and alike and (together or self._sizes[0] == 1)
            if self._singly or not joins:
                return end
        return len(self._line)

    def _untouched_run(self, start: int) -> range:
        """Return the outermost slice that begins here, if all its members wait; else empty."""
        size = self._sizes[0]
        run = self._numbers[start] // size
        if size == 1 or (start and self._numbers[start - 1] // size == run):
            return range(0)
        end = bisect.bisect_left(self._numbers, (run + 1) * size, lo=start)
        untouched = all(self._waits[start:end]) and (self._places[start:end] == ABSENT).all()
        return range(start, end) if untouched else range(0)

    def _seat_stretch(self, start: int, end: int) -> Seated:
        run = self._untouched_run(start)
        seated = self._seat_run(run) if run else self._seat_beside(start, end)
        for position in range(start, end):
            self._places[position] = seated.get(self._line[position].uid, ABSENT)
        return seated

    def _seat_run(self, run: range) -> Seated:
        """Seat a slice without a bound member, like a gang."""
        if self._whole and len(run) < self._sizes[0]:
            return {}
        depth = topology_scope.sliced_at(self._sizes)[0]
        sizes = topology_scope.inner_sizes(self._sizes)
        part = RankedMembers(tuple(self._line[position] for position in run), sizes=sizes)
        return self._seat_parts([part], replace(self._area, must=depth)) or {}

    def _seat_beside(self, start: int, end: int) -> Seated:
        """Seat as many members of a stretch as fit, in the slots nearest to its neighbours."""
        unsliced = (1,) * len(self._sizes)
        members = tuple(self._line[start:end])
        class_members = ClassMembers(members[0].pod_class, members, unsliced)
        slots = self._seating.slots(class_members, self._area)
        slots = np.where(self._where_their_slices_are(start), slots, 0)
        nearest = self._nearest_first(start, end, slots)
        before = np.cumsum(slots[nearest].clip(max=len(members)))
        used = nearest[: int(np.searchsorted(before, len(members))) + 1]
        seats = np.repeat(used, slots[used].clip(max=len(members)))[: len(members)]
        some = replace(class_members, members=members[: len(seats)])
        return self._seating.assume(some, self._area.tree, np.sort(seats))

    def _where_their_slices_are(self, position: int) -> BoolArray:
        """Return the places in the domains of placed members of the same slices."""
        allowed = np.ones(len(self._area.open), dtype=np.bool_)
        for depth in topology_scope.sliced_at(self._sizes):
            size = self._sizes[depth]
            run = self._numbers[position] // size
            first = bisect.bisect_left(self._numbers, run * size)
            last = bisect.bisect_left(self._numbers, (run + 1) * size)
            places = self._places[first:last]
            if (places != ABSENT).any():
                domain = self._domains[depth][places[places != ABSENT][0]]
                allowed &= self._domains[depth] == domain
        return allowed

    def _nearest_first(self, start: int, end: int, slots: IntArray) -> IntArray:
        """Return places with slots: nearest to the neighbours first, then tightest."""
        candidates = np.flatnonzero(slots)
        shared = [
            (self._domains[:, candidates] == self._domains[:, [place]]).sum(axis=0)
            for place in self._neighbours(start, end)
        ] or [np.zeros(len(candidates), dtype=np.int64)]
        nearest, farthest = np.maximum.reduce(shared), np.minimum.reduce(shared)
        return candidates[np.lexsort((candidates, slots[candidates], -farthest, -nearest))]

    def _neighbours(self, start: int, end: int) -> list[int]:
        """Return the places of the next placed members before and after the stretch."""
        before = np.flatnonzero(self._places[:start] != ABSENT)[-1:]
        after = np.flatnonzero(self._places[end:] != ABSENT)[:1] + end
        found: list[int] = self._places[np.concatenate([before, after])].tolist()
        return found
