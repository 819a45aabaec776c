"""Where members with a topology request go: close together, and as they are sliced.

1. Members that ask the same of a node form a class; nodes offer slots to the class.
2. Slots are rolled up to the capacity of every domain (`capacity`).
3. Only domains of the layer that the members must gather in, or lower, are candidates.
4. The lowest layer is taken that has a domain with room for all members.
5. Of its domains, the one with the least left over (`class_seating`).
6. Down from there, the fewest domains at every level (`descent`).

Members of a unit with bound members join these (`replacements`).
"""

import bisect
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gang_scheduler.model.network import topology_scope
from gang_scheduler.model.network.topology_scope import TopologyScope
from gang_scheduler.model.plan import Bind, Misfit
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import anywhere, interdependent
from gang_scheduler.scheduler.placement.anywhere import Placement
from gang_scheduler.scheduler.placement.network import (
    class_seating,
    domain_offers,
    replacements,
)
from gang_scheduler.scheduler.placement.network.class_seating import (
    Area,
    ClassMembers,
    ClassSeating,
    Seated,
)
from gang_scheduler.scheduler.placement.network.packing import MOST_ORDERS, MOST_PACKED, Packing
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial, shares
from gang_scheduler.scheduler.units.placement_units import PlacementUnit, RankedMembers

Pack = Callable[[Area], Seated]
"""A way to seat some members in an area."""


def place(
    unit: PlacementUnit, at_least: int, trial: Trial, profile: Profile, *, within: int | None = None
) -> Placement | Misfit:
    """Take room for as many members as the request allows, if at least `at_least` fit; else none.

    Without a request members may be on any node. Fewer than all members are placed only if not all
    fit in one domain that they must gather in. `within` is that domain, if it must be one in
    particular.
    """
    scope = unit.scope
    if scope is None:
        return anywhere.place(unit.members, at_least, trial, profile)
    gathering = _Gathering(unit, scope, trial, profile, within)
    with trial.all_or_nothing() as attempt:
        seated = gathering.as_many(at_least) if len(scope.tree.rows) else None
        if seated is not None:
            attempt.commit()
            return _placement(unit.members, seated, scope)
    if gathering.may_be_anywhere:
        return anywhere.place(unit.members, at_least, trial, profile)
    with trial.all_or_nothing():
        return domain_offers.explain(
            gathering.by_class(unit.parts), gathering.area, at_least, trial, profile
        )


class _Gathering:
    """One unit, and where on its scope the members may go."""

    def __init__(
        self,
        unit: PlacementUnit,
        scope: TopologyScope,
        trial: Trial,
        profile: Profile,
        within: int | None,
    ) -> None:
        self._unit = unit
        self._trial = trial
        self._seating = ClassSeating(trial, profile)
        self._packing = Packing(self._seating)
        pod_classes = {pod.pod_class for pod in unit.members}
        self._tied = interdependent.are(pod_classes, trial, profile)
        tree = scope.tree
        everywhere = Area(tree, np.ones(len(tree.rows), dtype=np.bool_), scope.must, scope.prefer)
        self._home = replacements.home_of(unit.bound_members, scope)
        self.area = everywhere
        confined = self._home if within is None else within
        if confined is not None:
            self.area = replace(everywhere, open=everywhere.inside(scope.must, confined).open)
        # A preference keeps no gang waiting, not even where nodes lack the labels.
        self.may_be_anywhere = (
            within is None and scope.must == 0 and len(tree.outside) > 0 and not unit.sliced
        )

    def as_many(self, at_least: int) -> Seated | None:
        """Take room for all members, or for as many as fit if at least `at_least` do."""
        if self._home is not None:
            return self._beside_bound_members(at_least)
        step = self._unit.step
        in_order = self._needed_first()
        numbers = range(at_least, len(in_order) + 1, step)
        seated = self._seat(in_order[: numbers[-1]])
        if seated is not None or len(numbers) == 1:
            return seated
        # If some number fits, every smaller one does.
        too_many = bisect.bisect_left(numbers, x=True, key=lambda n: not self._fits(in_order[:n]))
        number = numbers[too_many - 1] if too_many else 0
        # Where members differ, other members may fit where the first in rank do not.
        others = self._any(max(at_least, number + 1))
        return others or (self._seat(in_order[:number]) if number else None)

    def by_class(self, parts: Sequence[RankedMembers]) -> list[ClassMembers]:
        """Return the members of parts by class and by how they are sliced."""
        return class_seating.by_class(parts, self.area.tree)

    def _needed_first(self) -> list[Pod]:
        members = self._unit.members
        return sorted(members, key=lambda pod: pod.uid not in self._unit.required)

    def _fits(self, members: Sequence[Pod]) -> bool:
        with self._trial.all_or_nothing():
            return self._seat(members) is not None

    def _seat(self, members: Iterable[Pod]) -> Seated | None:
        return self._seat_parts(self._unit.only({pod.uid for pod in members}).parts, self.area)

    def _seat_parts(self, parts: Sequence[RankedMembers], area: Area) -> Seated | None:
        waiting = [part for part in parts if part.members]
        if any(self._is_rough(part) for part in waiting):
            return self._seat_rough(waiting, area)
        return self._packing.seat(self.by_class(waiting), area)

    def _is_rough(self, part: RankedMembers) -> bool:
        """Return whether sliced members cannot be seated as one class: they differ, or are tied."""
        pod_classes = {pod.pod_class for pod in part.members}
        return part.sizes[0] > 1 and (len(pod_classes) > 1 or self._tied)

    def _seat_rough(self, parts: Sequence[RankedMembers], area: Area) -> Seated | None:
        """Seat slices whose members differ: one slice after the other, each like a gang."""
        by_class = self.by_class(parts)
        for depth in range(len(area.tree.levels) - 1, area.must - 1, -1):
            holds = self._packing.holds_requests(by_class, area, depth)
            for domain in np.flatnonzero(holds).tolist():
                if not self._trial.effort.may_go_on():
                    return None
                with self._trial.all_or_nothing() as attempt:
                    seated = self._seat_slices(parts, area.inside(depth, domain))
                    if seated is not None:
                        attempt.commit()
                        return seated
        return None

    def _seat_slices(self, parts: Sequence[RankedMembers], area: Area) -> Seated | None:
        smooth = [part for part in parts if not self._is_rough(part)]
        others = [(smooth, area)] if smooth else []
        rough = (part for part in parts if self._is_rough(part))
        slices = [each for part in rough for each in _slices_of(part, area)]
        seated: Seated = {}
        # Slices have the least choice and come first, unless they may depend on other members.
        for some, where in (*others, *slices) if self._tied else (*slices, *others):
            found = self._seat_parts(some, where)
            if found is None:
                return None
            seated |= found
        return seated

    def _beside_bound_members(self, at_least: int) -> Seated | None:
        members = self._needed_first()
        for number in dict.fromkeys((len(members), at_least)):
            # Members that are placed one by one may stand in each other's way.
            seated = self._one_by_one(number) or self._unless_sliced(members[:number])
            if seated is not None:
                return seated
        return None

    def _one_by_one(self, at_least: int) -> Seated | None:
        with self._trial.all_or_nothing() as attempt:
            seated = replacements.seat(self._unit, self.area, self._seating, self._seat_parts)
            if len(seated) >= at_least:
                attempt.commit()
                return seated
        return None

    def _unless_sliced(self, members: Sequence[Pod]) -> Seated | None:
        if any(part.sizes[0] > 1 for part in self._unit.parts):
            return None
        return self._seat(members) if members else {}

    def _any(self, at_least: int) -> Seated | None:
        """Take room for the most members of several classes, whatever their ranks."""
        by_class = self.by_class(self._unit.parts)
        if len(by_class) == 1 or self._unit.step > 1 or not self._unit.exchangeable:
            return None
        if self._tied:
            return None
        depth = self.area.must
        offers = [
            self._seating.rolled(each, self.area)[depth].whole.clip(max=len(each))
            for each in by_class
        ]
        together = np.sum(offers, axis=0)
        best, most = None, at_least - 1
        for domain in np.argsort(-together, kind="stable")[:MOST_PACKED].tolist():
            if int(together[domain]) <= most or not self._trial.effort.may_go_on():
                break
            area = self.area.inside(depth, domain)
            for pack in self._ways_to_pack(by_class, most + 1):
                number = self._try(pack, area)
                if number > most:
                    best, most = (pack, area), number
        return None if best is None else best[0](best[1])

    def _ways_to_pack(self, by_class: Sequence[ClassMembers], at_least: int) -> Iterator[Pack]:
        """Yield ways to seat as many members as fit: in several orders, and by exact search."""
        for order in itertools.islice(itertools.permutations(by_class), MOST_ORDERS):
            yield functools.partial(self._most_of_each, order)
        yield lambda area: self._packing.seat_exactly(by_class, area, at_least) or {}

    def _try(self, pack: Pack, area: Area) -> int:
        with self._trial.all_or_nothing():
            return len(pack(area))

    def _most_of_each(self, by_class: Sequence[ClassMembers], area: Area) -> Seated:
        seated: Seated = {}
        for class_members in by_class:
            self._trial.effort.spend(looks(len(self._trial.nodes)))
            number = min(
                len(class_members), int(self._seating.rolled(class_members, area)[0].whole[0])
            )
            if number:
                some = replace(class_members, members=class_members.members[:number])
                seated |= self._seating.seat(some, area) or {}
        return seated


def _slices_of(part: RankedMembers, area: Area) -> Iterator[tuple[list[RankedMembers], Area]]:
    """Yield each outermost slice of a part, like a gang, and the area where it must gather."""
    depth, sizes = topology_scope.sliced_at(part.sizes)[0], topology_scope.inner_sizes(part.sizes)
    for start in range(0, len(part.members), part.sizes[0]):
        members = part.members[start : start + part.sizes[0]]
        yield [RankedMembers(members, sizes=sizes)], replace(area, must=depth)


def _placement(members: Sequence[Pod], seated: Seated, scope: TopologyScope) -> Placement:
    """Return the placement of seated members, in rank order."""
    rows = scope.tree.rows
    nodes = scope.tree.nodes.nodes
    placed = [(pod, int(rows[seated[pod.uid]])) for pod in members if pod.uid in seated]
    binds = tuple(Bind(pod, nodes[row].name) for pod, row in placed)
    return Placement(binds, tuple(shares((pod.pod_class, row) for pod, row in placed)))
