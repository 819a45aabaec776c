"""Members of several classes that gather: packed together in each domain, by trial.

A trainer and its rollout pods, a master and its workers: what one class takes the other cannot
have, so what the domains offer to each is only a bound. The classes are seated one after the other,
in several orders, and on few nodes by an exact search. What plain counting forbids is not tried
(`counting`), and of domains that are alike the first stands for all.
"""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import arrangements, interdependent
from gang_scheduler.scheduler.placement.network.bounds import Bounds
from gang_scheduler.scheduler.placement.network.capacity import Capacity
from gang_scheduler.scheduler.placement.network.class_seating import Area, Crowd, Seated, Seating

MOST_ORDERS: Final = 6
"""In how many orders classes are packed before a domain is given up."""
MOST_PACKED: Final = 64
"""In how many domains of a level it is tried: the tightest, and as many of the roomiest."""
MOST_NARROWED: Final = 32
"""Up to how many nodes their number is made small as well, and not only that of domains above."""
MOST_SUBSETS: Final = 256
"""How many sets of domains are looked at to find a smaller one."""


class Packing:
    """Seats several crowds in one area, all or none."""

    def __init__(self, seating: Seating) -> None:
        self.seating = seating
        self._trial = seating.trial
        self._packed: Seated = {}

    def seat(self, crowds: Sequence[Crowd], area: Area) -> Seated | None:
        """Take room for all members in one domain at `area.must` or lower, else for none."""
        if not crowds:
            return {}  # A podset all of whose members are surplus needs no room at first.
        if not area.open.any():
            return None
        if interdependent.are(
            [crowd.pod_class for crowd in crowds], self._trial, self.seating.profile
        ):
            return self._seat_one_by_one(crowds, area)
        if len(crowds) == 1:
            return self.seating.seat(crowds[0], area)
        return self._seat_together(crowds, area) if self._trial.effort.may_begin() else None

    def _seat_one_by_one(self, crowds: Sequence[Crowd], area: Area) -> Seated | None:
        """Seat members that see each other, in the lowest and tightest domain where that works."""
        rolled = [self.seating.rolled_at_best(crowd, area) for crowd in crowds]
        offered = np.array([self.seating.slots_at_best(crowd, area) for crowd in crowds])
        bounds = Bounds(crowds, area, offered, self.seating)
        for depth, place in self._domains(crowds, rolled, area, bounds):
            seated = self.seating.seat_one_by_one(crowds, area.inside(depth, place))
            if seated is not None:
                return seated
        return None

    def _seat_together(self, crowds: Sequence[Crowd], area: Area) -> Seated | None:
        """Pack the crowds together in the lowest and tightest domain where that works."""
        rolled = [self.seating.rolled(crowd, area) for crowd in crowds]
        offered = np.array([self.seating.slots(crowd, area) for crowd in crowds])
        bounds = Bounds(crowds, area, offered, self.seating)
        failed: set[bytes] = set()
        for depth, place in self._domains(crowds, rolled, area, bounds):
            inside = area.inside(depth, place)
            likeness = bounds.likeness(inside) if _depend_on_room_alone(crowds) else b""
            if likeness in failed:
                continue
            seated = self._pack(crowds, inside, depth, bounds)
            if seated is not None:
                return seated
            failed |= {likeness} - {b""}
        return None

    def _domains(
        self,
        crowds: Sequence[Crowd],
        rolled: Sequence[Sequence[Capacity]],
        area: Area,
        bounds: Bounds,
    ) -> Iterator[tuple[int, int]]:
        """Yield depths and places of domains that may hold all, from the lowest level up.

        After the first it ends where the looks of the search are used up.
        """
        effort, number = self._trial.effort, 0
        for depth in range(len(area.tree.levels) - 1, area.must - 1, -1):
            level = [each[depth] for each in rolled]
            verdicts = [
                each.holds(len(crowd), crowd.sizes[depth])
                for each, crowd in zip(level, crowds, strict=True)
            ]
            verdicts += self.holds_requests(crowds, area, depth), bounds.holding(depth)
            domains = np.flatnonzero(np.array(verdicts).all(axis=0))
            for place in _worth_trying(level, area, depth, domains):
                if number and not effort.may_go_on():
                    return
                number += 1
                yield depth, place

    def holds_requests(self, crowds: Sequence[Crowd], area: Area, depth: int) -> BoolArray:
        """Return the domains that have enough of every resource for all the crowds at once."""
        needed = sum(len(crowd) * self.seating.request(crowd) for crowd in crowds)
        free = np.where(area.open[:, np.newaxis], self._trial.free[area.tree.rows].clip(min=0), 0)
        room = np.add.reduceat(free, area.tree.levels[depth].starts, axis=0)
        holds: BoolArray = np.all(room >= needed, axis=1)
        return holds

    def _pack(
        self, crowds: Sequence[Crowd], area: Area, depth: int, bounds: Bounds
    ) -> Seated | None:
        """Pack the crowds inside an area, on the fewest domains of each level below `depth`."""
        if not self._could_pack(crowds, area, bounds):
            return None
        first = next((each for each in area.prefer if each > depth), depth + 1)
        for below in range(first, len(area.tree.levels)):
            if below < len(area.tree.levels) - 1 or area.open.sum() <= MOST_NARROWED:
                area = self._narrowed(crowds, area, below, bounds)
        return self._as_packed(crowds, area)

    def _could_pack(self, crowds: Sequence[Crowd], area: Area, bounds: Bounds) -> bool:
        if not bounds.allow(area):
            return False
        with self._trial.all_or_nothing():
            packed = self._seat_each(crowds, area)
        self._packed = packed or self._packed
        return packed is not None

    def _as_packed(self, crowds: Sequence[Crowd], area: Area) -> Seated:
        """Take room as when they last could be packed: in the area that was narrowed to."""
        for crowd in crowds:
            seats = np.array([self._packed[pod.uid] for pod in crowd.members])
            self.seating.take(crowd, area.tree, seats)
        return self._packed

    def _narrowed(self, crowds: Sequence[Crowd], area: Area, depth: int, bounds: Bounds) -> Area:
        """Return the part of the area in the fewest domains of a level that still do."""
        offered = np.array(
            [self.seating.rolled(crowd, area)[depth].whole.clip(max=len(crowd)) for crowd in crowds]
        )
        together = offered.sum(axis=0)
        # The largest first; as many of them as it takes.
        domains = np.argsort(-together, kind="stable")[: int((together > 0).sum())]
        least = min(bounds.fewest(depth, area), len(domains))
        fewest = bisect.bisect_left(
            range(len(domains) - 1),
            x=True,
            lo=least - 1,
            key=lambda last: self._could_pack(
                crowds, area.within(depth, domains[: last + 1]), bounds
            ),
        )
        chosen = domains[: fewest + 1]
        for fewer in self._fewer(domains, range(least, fewest + 1), offered, crowds):
            if not self._trial.effort.may_go_on():
                break
            if self._could_pack(crowds, area.within(depth, fewer), bounds):
                return area.within(depth, fewer)
        return area.within(depth, chosen)

    def _fewer(
        self, domains: IntArray, numbers: range, offered: IntArray, crowds: Sequence[Crowd]
    ) -> Iterator[IntArray]:
        """Yield some sets of so many domains that offer each crowd enough, the smallest first."""
        needed = np.array([len(crowd) for crowd in crowds])
        sets = itertools.chain.from_iterable(
            itertools.combinations(domains.tolist(), size) for size in numbers
        )
        for each in itertools.islice(sets, MOST_SUBSETS):
            chosen = np.array(each)
            if (offered[:, chosen].sum(axis=1) >= needed).all():
                yield chosen

    def _seat_each(self, crowds: Sequence[Crowd], area: Area) -> Seated | None:
        """Seat one crowd after the other, in several orders; on few nodes by an exact search."""
        orders = itertools.permutations(self._hardest_first(crowds, area))
        for number, order in enumerate(itertools.islice(orders, MOST_ORDERS)):
            if number and not self._trial.effort.may_go_on():
                return None
            with self._trial.all_or_nothing() as attempt:
                seated = self._seat_in_order(order, area)
                if seated is not None:
                    attempt.keep()
                    return seated
        return self.seat_exactly(crowds, area, sum(map(len, crowds)))

    def _seat_in_order(self, crowds: Iterable[Crowd], area: Area) -> Seated | None:
        seated: Seated = {}
        for crowd in crowds:
            self._trial.effort.spend(looks(len(self._trial.nodes)))
            found = self.seating.seat(crowd, area)
            if found is None:
                return None
            seated |= found
        return seated

    def _hardest_first(self, crowds: Sequence[Crowd], area: Area) -> list[Crowd]:
        """Order crowds by how often they would fit: the fewest times is the least choice.

        Crowds that are equal in that are in the order of their first members.
        """

        def room(crowd: Crowd) -> tuple[float, tuple[tuple[str, int], ...]]:
            times = int(self.seating.slots(crowd, area).sum()) / len(crowd)
            return times, crowd.pod_class.requests

        return sorted(crowds, key=room)

    def seat_exactly(self, crowds: Sequence[Crowd], area: Area, at_least: int) -> Seated | None:
        """Seat `at_least` members on few nodes, of whichever crowds, if there is a way."""
        if any(crowd.sizes[0] > 1 for crowd in crowds):
            return None
        sizes = {crowd.pod_class: len(crowd) for crowd in crowds}
        rows = area.tree.rows[area.open]
        shares = arrangements.take(sizes, rows, at_least, self._trial, self.seating.profile)
        if shares is None:
            return None
        seated: Seated = {}
        for crowd, share in zip(crowds, shares, strict=True):
            places = np.sort(np.repeat(area.tree.places[share.rows], share.counts))
            uids = (pod.uid for pod in crowd.members)
            # A part of a crowd may be seated: the first in rank.
            seated |= dict(zip(uids, places.tolist(), strict=False))
        return seated


def _depend_on_room_alone(crowds: Sequence[Crowd]) -> bool:
    """Tell whether it makes no difference how nodes are called, and which are near each other."""
    return all(crowd.sizes[0] == 1 and crowd.pod_class.storage is None for crowd in crowds)


def _worth_trying(
    level: Sequence[Capacity], area: Area, depth: int, domains: IntArray
) -> list[int]:
    """Return domains by what they would have left over, the least first; not the middle of many."""
    left = np.sum([each.whole[domains] for each in level], axis=0, dtype=np.float64)
    ranks = area.tree.levels[depth].ranks[domains]
    ordered: list[int] = domains[np.lexsort((ranks, left))].tolist()
    if len(ordered) <= MOST_PACKED:
        return ordered
    return [*ordered[: MOST_PACKED // 2], *ordered[-MOST_PACKED // 2 :]]
