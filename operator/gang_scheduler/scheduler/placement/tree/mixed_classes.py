"""Members of several classes that gather: packed together in each domain, by trial.

Examples are a trainer and its rollout pods, or a master and its workers: one class cannot have the
room that the other takes, so the offer of a domain to one class is only a bound. The classes are
placed one after the other, in several orders, and on few nodes by an exact search. Domains that
plain counting excludes (`lower_bounds`) are not tried, and among equal domains only the first one
is.
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import interdependent, packing
from gang_scheduler.scheduler.placement.lower_bounds import Floors
from gang_scheduler.scheduler.placement.tree.capacity import Capacity
from gang_scheduler.scheduler.placement.tree.one_class import (
    Area,
    ClassMembers,
    ClassSeating,
    Seated,
)

# An upper bound on the members of several classes that an area can take, by plain counting
# (`lower_bounds`).


class Bounds:
    """Upper bounds on how many members of several classes each domain of an area holds.

    Counting by the floors of the classes gives the bounds. `offered` is the number of members of
    each class that each place in the tree can take, as classes by places.
    """

    def __init__(
        self, by_class: Sequence[ClassMembers], area: Area, offered: IntArray, seating: ClassSeating
    ) -> None:
        self._tree = area.tree
        self._free = seating.trial.free[area.tree.rows]
        self._offered = offered
        requests = np.array([seating.request(class_members) for class_members in by_class])
        self._asked = requests.any(axis=0)
        self._floors = Floors(requests, [len(class_members) for class_members in by_class])
        self._places: IntArray = np.zeros((len(self._floors.needed), len(area.open)), np.int64)
        there = np.flatnonzero(area.open)
        seating.trial.effort.count(self._floors.looks(len(there)))
        self._places[:, there] = self._floors.places(self._free[there], offered[:, there])

    def holding(self, depth: int) -> BoolArray:
        """Return the domains of a level that have enough places."""
        starts = self._tree.levels[depth].starts
        together = np.add.reduceat(self._places, starts, axis=1)
        holds: BoolArray = np.all(together >= self._floors.needed[:, np.newaxis], axis=0)
        return holds

    def allow(self, area: Area) -> bool:
        """Return whether a part of the area has places enough."""
        return bool((self._places[:, area.open].sum(axis=1) >= self._floors.needed).all())

    def fewest(self, depth: int, area: Area) -> int:
        """Return the fewest domains of a level that the classes need in part of the area."""
        places = np.where(area.open, self._places, 0)
        by_domain = np.add.reduceat(places, self._tree.levels[depth].starts, axis=1)
        held = np.cumsum(-np.sort(-by_domain, axis=1), axis=1)
        return 1 + int((held < self._floors.needed[:, np.newaxis]).sum(axis=1).max())

    def likeness(self, area: Area) -> bytes:
        """Return a key of an area.

        Two areas share it if each node of one can be paired with a node like it in the other.
        """
        columns = [self._free[area.open][:, self._asked].T, self._offered[:, area.open]]
        nodes = np.concatenate(columns)
        return nodes[:, np.lexsort(nodes)].tobytes()


MOST_ORDERS: Final = 6
"""The number of orders of classes that are tried before a domain is given up."""
MOST_PACKED: Final = 64
"""The most domains of a level where packing is tried: half the tightest, half the roomiest."""
MOST_NARROWED: Final = 32
"""In an area of at most this many nodes, the number of nodes is minimized like that of domains."""
MOST_SUBSETS: Final = 256
"""The most sets of domains that are looked at to find a smaller set."""


class Packing:
    """Seats several classes in one area, all or none."""

    def __init__(self, seating: ClassSeating) -> None:
        self.seating = seating
        self._trial = seating.trial
        self._packed: Seated = {}

    def seat(self, by_class: Sequence[ClassMembers], area: Area) -> Seated | None:
        """Take room for all members in one domain at `area.must` or lower, else for none."""
        if not by_class:
            return {}  # A podset with only surplus members needs no room at first.
        if not area.open.any():
            return None
        if interdependent.depend_on_each_other(
            [class_members.pod_class for class_members in by_class],
            self._trial,
            self.seating.profile,
        ):
            return self._seat_one_by_one(by_class, area)
        if len(by_class) == 1:
            return self.seating.seat(by_class[0], area)
        return self._seat_together(by_class, area) if self._trial.effort.may_begin() else None

    def _seat_one_by_one(self, by_class: Sequence[ClassMembers], area: Area) -> Seated | None:
        """Seat members that depend on each other in the lowest and tightest domain that works."""
        for depth, place in self.domains_at_best(by_class, area):
            seated = self.seating.seat_one_by_one(by_class, area.inside(depth, place))
            if seated is not None:
                return seated
        return None

    def domains_at_best(
        self, by_class: Sequence[ClassMembers], area: Area
    ) -> Iterator[tuple[int, int]]:
        """Yield domains that may hold all members, wherever other members are placed.

        A domain is given as its depth and its place in that level. The lowest level comes first,
        and within a level the tightest domain.
        """
        offered = np.array([self.seating.slots_at_best(each, area) for each in by_class])
        bounds = Bounds(by_class, area, offered, self.seating)
        yield from self._domains(by_class, self._capacities(by_class, offered, area), area, bounds)

    def _seat_together(self, by_class: Sequence[ClassMembers], area: Area) -> Seated | None:
        """Pack the classes together in the lowest and tightest domain where that works."""
        offered = np.array([self.seating.slots(each, area) for each in by_class])
        rolled = self._capacities(by_class, offered, area)
        bounds = Bounds(by_class, area, offered, self.seating)
        failed: set[bytes] = set()
        for depth, place in self._domains(by_class, rolled, area, bounds):
            inside = area.inside(depth, place)
            likeness = bounds.likeness(inside) if _depend_on_room_alone(by_class) else b""
            if likeness in failed:
                continue
            seated = self._pack(by_class, inside, depth, bounds)
            if seated is not None:
                return seated
            failed |= {likeness} - {b""}
        return None

    def _capacities(
        self, by_class: Sequence[ClassMembers], offered: IntArray, area: Area
    ) -> list[tuple[Capacity, ...]]:
        return [
            self.seating.rolled_up(class_members, slots, area)
            for class_members, slots in zip(by_class, offered, strict=True)
        ]

    def _domains(
        self,
        by_class: Sequence[ClassMembers],
        rolled: Sequence[Sequence[Capacity]],
        area: Area,
        bounds: Bounds,
    ) -> Iterator[tuple[int, int]]:
        """Yield depths and places of domains that may hold all members, from the lowest level up.

        Always yields the first; ends once the looks of the search, or its work, are used up.
        """
        effort, number = self._trial.effort, 0
        for depth in range(len(area.tree.levels) - 1, area.must - 1, -1):
            level = [each[depth] for each in rolled]
            verdicts = [
                each.holds(len(class_members), class_members.sizes[depth])
                for each, class_members in zip(level, by_class, strict=True)
            ]
            verdicts += self._holds_requests(by_class, area, depth), bounds.holding(depth)
            domains = np.flatnonzero(np.array(verdicts).all(axis=0))
            for place in _worth_trying(level, area, depth, domains):
                if number and not (effort.may_go_on() and effort.may_work_on()):
                    return
                number += 1
                yield depth, place

    def _holds_requests(
        self, by_class: Sequence[ClassMembers], area: Area, depth: int
    ) -> BoolArray:
        """Return the domains that have enough of every resource for all classes at once."""
        needed = sum(
            len(class_members) * self.seating.request(class_members) for class_members in by_class
        )
        free = np.where(area.open[:, np.newaxis], self._trial.free[area.tree.rows].clip(min=0), 0)
        room = np.add.reduceat(free, area.tree.levels[depth].starts, axis=0)
        holds: BoolArray = np.all(room >= needed, axis=1)
        return holds

    def _pack(
        self, by_class: Sequence[ClassMembers], area: Area, depth: int, bounds: Bounds
    ) -> Seated | None:
        """Pack the classes inside an area, on the fewest domains of each level below `depth`."""
        if not self._could_pack(by_class, area, bounds):
            return None
        first = next((each for each in area.prefer if each > depth), depth + 1)
        for below in range(first, len(area.tree.levels)):
            if below < len(area.tree.levels) - 1 or area.open.sum() <= MOST_NARROWED:
                area = self._narrowed(by_class, area, below, bounds)
        return self._as_packed(by_class, area)

    def _could_pack(self, by_class: Sequence[ClassMembers], area: Area, bounds: Bounds) -> bool:
        if not bounds.allow(area):
            return False
        with self._trial.all_or_nothing():
            packed = self._seat_each(by_class, area)
        self._packed = packed or self._packed
        return packed is not None

    def _as_packed(self, by_class: Sequence[ClassMembers], area: Area) -> Seated:
        """Take room as in the last trial that succeeded: the one in the narrowed area."""
        for class_members in by_class:
            seats = np.array([self._packed[pod.uid] for pod in class_members.members])
            self.seating.assume(class_members, area.tree, seats)
        return self._packed

    def _narrowed(
        self, by_class: Sequence[ClassMembers], area: Area, depth: int, bounds: Bounds
    ) -> Area:
        """Return the part of the area in the fewest domains of a level that still hold all members.

        The search is bounded, so there may be a smaller part.
        """
        offered = np.array(
            [
                self.seating.rolled(class_members, area)[depth].whole.clip(max=len(class_members))
                for class_members in by_class
            ]
        )
        together = offered.sum(axis=0)
        # The largest domains first; as many as are needed.
        domains = np.argsort(-together, kind="stable")[: int((together > 0).sum())]
        least = min(bounds.fewest(depth, area), len(domains))
        fewest = bisect.bisect_left(
            range(len(domains) - 1),
            x=True,
            lo=least - 1,
            key=lambda last: self._could_pack(
                by_class, area.within(depth, domains[: last + 1]), bounds
            ),
        )
        chosen = domains[: fewest + 1]
        for fewer in self._fewer(domains, range(least, fewest + 1), offered, by_class):
            if not self._trial.effort.may_go_on():
                break
            if self._could_pack(by_class, area.within(depth, fewer), bounds):
                return area.within(depth, fewer)
        return area.within(depth, chosen)

    def _fewer(
        self, domains: IntArray, numbers: range, offered: IntArray, by_class: Sequence[ClassMembers]
    ) -> Iterator[IntArray]:
        """Yield sets of this many domains that offer each class enough, the smallest sets first."""
        needed = np.array([len(class_members) for class_members in by_class])
        sets = itertools.chain.from_iterable(
            itertools.combinations(domains.tolist(), size) for size in numbers
        )
        for each in itertools.islice(sets, MOST_SUBSETS):
            chosen = np.array(each)
            if (offered[:, chosen].sum(axis=1) >= needed).all():
                yield chosen

    def _seat_each(self, by_class: Sequence[ClassMembers], area: Area) -> Seated | None:
        """Seat one class after the other, in several orders; on few nodes by an exact search."""
        orders = itertools.permutations(self._hardest_first(by_class, area))
        for number, order in enumerate(itertools.islice(orders, MOST_ORDERS)):
            if number and not self._trial.effort.may_go_on():
                return None
            with self._trial.all_or_nothing() as transaction:
                seated = self._seat_in_order(order, area)
                if seated is not None:
                    transaction.commit()
                    return seated
        return self.seat_exactly(by_class, area, sum(map(len, by_class)))

    def _seat_in_order(self, by_class: Iterable[ClassMembers], area: Area) -> Seated | None:
        seated: Seated = {}
        for class_members in by_class:
            self._trial.effort.spend(looks(len(self._trial.nodes)))
            found = self.seating.seat(class_members, area)
            if found is None:
                return None
            seated |= found
        return seated

    def _hardest_first(self, by_class: Sequence[ClassMembers], area: Area) -> list[ClassMembers]:
        """Order classes by the room for them, the least room first: they have the least choice.

        Ties are broken by requests, then by the order of first members.
        """

        def room(class_members: ClassMembers) -> tuple[float, tuple[tuple[str, int], ...]]:
            times = int(self.seating.slots(class_members, area).sum()) / len(class_members)
            return times, class_members.pod_class.requests

        return sorted(by_class, key=room)

    def seat_exactly(
        self, by_class: Sequence[ClassMembers], area: Area, at_least: int
    ) -> Seated | None:
        """Seat `at_least` members of any of the classes by an exact search, if there are few nodes.

        None if there is no way, or the case is too large to search.
        """
        if any(class_members.sizes[0] > 1 for class_members in by_class):
            return None
        sizes = {class_members.pod_class: len(class_members) for class_members in by_class}
        rows = area.tree.rows[area.open]
        shares = packing.assume_arranged(sizes, rows, at_least, self._trial, self.seating.profile)
        if shares is None:
            return None
        seated: Seated = {}
        for class_members, share in zip(by_class, shares, strict=True):
            places = np.sort(np.repeat(area.tree.places[share.rows], share.counts))
            uids = (pod.uid for pod in class_members.members)
            # A part of a class may be seated: the first in rank.
            seated |= dict(zip(uids, places.tolist(), strict=False))
        return seated


def _depend_on_room_alone(by_class: Sequence[ClassMembers]) -> bool:
    """Return whether only room counts, and not the names, the neighbourhood or devices of nodes.

    Nodes that take as many members of each class alone may have devices for different mixtures.
    """
    return all(
        class_members.sizes[0] == 1
        and class_members.pod_class.storage is None
        and not class_members.pod_class.devices
        for class_members in by_class
    )


def _worth_trying(
    level: Sequence[Capacity], area: Area, depth: int, domains: IntArray
) -> list[int]:
    """Return the domains, least free room first; if there are many, only the first and last few."""
    left = np.sum([each.whole[domains] for each in level], axis=0, dtype=np.float64)
    ranks = area.tree.levels[depth].ranks[domains]
    ordered: list[int] = domains[np.lexsort((ranks, left))].tolist()
    if len(ordered) <= MOST_PACKED:
        return ordered
    return [*ordered[: MOST_PACKED // 2], *ordered[-MOST_PACKED // 2 :]]
