"""How many members fit in each domain, and what the next member lacks there.

The domains belong to the layer in which members must be together, or else to the best layer they
prefer. Without such a layer, the whole cluster is one domain.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from msgspec import structs

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn
from gang_scheduler.scheduler.explanation.findings import (
    Amount,
    DomainRoom,
    DomainSlots,
    NearestNode,
    Room,
    Where,
)
from gang_scheduler.scheduler.explanation.nodes import Holders, Rejections, rejections_of
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.feasible_slots import allowed, most_slots, offer_slots
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit, with_quorum
from gang_scheduler.scheduler.placement.tree import replacements
from gang_scheduler.scheduler.placement.tree.one_class import Area, ClassSeating, by_class
from gang_scheduler.scheduler.trial import Share, Trial

EXPLAINED: Final = 10
"""For this many domains, the document says what the next member lacks."""


def room_of(turn: Turn, holders: Holders, *, short: bool) -> Room | None:
    """Return the room for the unit with the largest shortfall; None if no unit has a quorum.

    `short`: the group found no place, so no domain has enough room.
    """
    found = [_UnitRoom(unit, turn) for unit in with_quorum(turn.units())]
    if not found:
        return None
    shortest = min(found, key=lambda each: each.best / each.needed)
    return shortest.room(holders, short=short)


class _UnitRoom:
    """The slots of every domain for one unit, on one trial."""

    def __init__(self, unit: PlacementUnit, turn: Turn) -> None:
        self._unit = unit
        self._trial = turn.trial()
        self._profile = turn.profile
        self._tied = interdependent.depend_on_each_other(
            list(unit.classes), self._trial, self._profile
        )
        self._area = _area_of(unit)
        self.needed = max(unit.at_least, 1)
        self._depth = self._chosen_depth()
        self._slots = self._slots_of_domains()

    @property
    def best(self) -> int:
        """How many members fit in the best domain."""
        return int(self._slots.max(initial=0))

    def room(self, holders: Holders, *, short: bool) -> Room:
        """Return the room of all domains; the first ones say why the next member does not fit."""
        at_most = self._tied or len(self._unit.classes) > 1 or self.best >= self.needed
        slots = self._slots.clip(max=self.needed - 1) if short else self._slots
        order = self._in_order(slots)
        explained = self._explained(order[:EXPLAINED], slots, holders)
        tree = self._area.tree if self._area is not None else None
        others: tuple[DomainSlots, ...] = ()
        if tree is not None and self._depth:
            others = tuple(
                DomainSlots(str(tree.domain(self._depth, each)), int(slots[each]))
                for each in order[EXPLAINED:]
            )
        where = Where(
            layer=tree.levels[self._depth].layer if tree is not None and self._depth else None,
            must=self._area is not None and self._area.must > 0,
            needed=self.needed,
            at_most=at_most and short,
            domains=(*explained, *others),
        )
        return Room(where, self._on_a_node(), tuple(gang.key for gang in self._unit.gangs))

    def _on_a_node(self) -> int:
        """Return the most members that fit on one empty node."""
        nodes = self._trial.nodes
        if not len(nodes):
            return 0
        classes = self._unit.classes
        least = np.min([nodes.vector(each.requests) for each in classes], axis=0)
        asked = least > 0
        if not asked.any():
            return len(self._unit.members)
        usable = [allowed(each, self._trial, self._profile) > 0 for each in classes]
        room = (nodes.allocatable[:, asked] // least[asked]).min(axis=1)
        return int(np.where(np.logical_or.reduce(usable), room, 0).max())

    def _chosen_depth(self) -> int:
        """Return the depth of the domains to show; 0 is the whole cluster."""
        area = self._area
        if area is None:
            return 0
        return area.must or max(area.prefer, default=0)

    def _slots_of_domains(self) -> IntArray:
        """Return how many members fit in each domain. Each class counts as if it were alone."""
        if self._area is None:
            some = [self._anywhere(each, n) for each, n in self._unit.classes.items()]
            return np.array([sum(some)])
        seats = ClassSeating(self._trial, self._profile)
        rolled = seats.rolled_at_best if self._tied else seats.rolled
        parts = by_class(self._unit.parts, self._area.tree)
        offers = [rolled(each, self._area)[self._depth].whole.clip(max=len(each)) for each in parts]
        together: IntArray = np.sum(offers, axis=0)
        return together

    def _anywhere(self, pod_class: PodClass, number: int) -> int:
        offered = most_slots if self._tied else offer_slots
        slots = offered(pod_class, self._trial, self._profile)
        return min(number, int(slots.clip(max=number).sum()))

    def _in_order(self, slots: IntArray) -> list[int]:
        """Return the domains that members may use, most room first."""
        open_to_it = np.arange(len(slots))
        if self._area is not None:
            starts = self._area.tree.levels[self._depth].starts
            open_to_it = np.flatnonzero(np.add.reduceat(self._area.open, starts))
        in_order: list[int] = open_to_it[np.argsort(-slots[open_to_it], kind="stable")].tolist()
        return in_order

    def _explained(
        self, order: Sequence[int], slots: IntArray, holders: Holders
    ) -> tuple[DomainRoom, ...]:
        pod_class, taken = self._fill()
        found = rejections_of(pod_class, self._trial, self._profile)
        rooms = [self._domain(each, int(slots[each]), pod_class, found, taken) for each in order]
        return _with_holders(rooms, holders)

    def _fill(self) -> tuple[PodClass, IntArray]:
        """Fill all room with members; return the class that lacks most, and the members by node."""
        classes = self._unit.classes
        slots = {each: offer_slots(each, self._trial, self._profile) for each in classes}
        shortest = min(classes, key=lambda each: int(slots[each].clip(max=1).sum()) / classes[each])
        taken = np.zeros(len(self._trial.nodes), dtype=np.int64)
        for pod_class, number in classes.items():
            room = offer_slots(pod_class, self._trial, self._profile).clip(max=number)
            rows = np.flatnonzero(room)
            taken += room
            if not self._tied and len(rows):
                self._trial.assume(Share(pod_class, rows, room[rows]))
        return shortest, taken

    def _domain(
        self, place: int, slots: int, pod_class: PodClass, found: Rejections, taken: IntArray
    ) -> DomainRoom:
        rows = self._rows(place)
        domain = None
        if self._area is not None and self._depth:
            domain = str(self._area.tree.domain(self._depth, place))
        filled = taken > 0
        near = rows & found.short & ~filled
        near = near if near.any() else rows & found.short
        return DomainRoom(
            domain=domain,
            slots=slots,
            nodes=int(rows.sum()),
            nearest=_nearest(pod_class, self._trial, near, taken) if near.any() else None,
            rejections=found.counted(rows & ~filled),
            filled=int((rows & filled).sum()),
        )

    def _rows(self, place: int) -> BoolArray:
        """Return the nodes of a domain."""
        rows = np.ones(len(self._trial.nodes), dtype=np.bool_)
        if self._area is not None:
            rows[:] = False
            rows[self._area.tree.rows[self._area.tree.slice_of(self._depth, place)]] = True
        return rows


def _area_of(unit: PlacementUnit) -> Area | None:
    """Return the domains where the members may go; None without a topology request."""
    scope = unit.scope
    if scope is None or not len(scope.tree.rows):
        return None
    open_to_it = np.ones(len(scope.tree.rows), dtype=np.bool_)
    area = Area(scope.tree, open_to_it, scope.must, scope.prefer)
    home = replacements.home_of(unit.bound_members, scope)
    if home is None:
        return area
    return replace(area, open=area.inside(scope.must, home).open)


def _nearest(pod_class: PodClass, trial: Trial, near: BoolArray, taken: IntArray) -> NearestNode:
    """Return the node that lacks the fewest resources; among several, the one that lacks least."""
    rows = np.flatnonzero(near)
    asked = [(name, amount) for name, amount in pod_class.requests if amount > 0]
    free = np.array([trial.free_of(name)[rows] for name, _ in asked])
    amounts = np.array([[amount] for _, amount in asked])
    parts = np.maximum(amounts - free, 0) / amounts
    number = np.count_nonzero(parts, axis=0)
    best = int(np.where(number == number.min(), parts.max(axis=0), np.inf).argmin())
    worst = int(parts[:, best].argmax())
    resource, amount = asked[worst]
    row = int(rows[best])
    left, beside = max(0, int(free[worst, best])), int(taken[row])
    return NearestNode(
        node=trial.nodes.nodes[row].name,
        resource=resource,
        free=Amount(resource, left),
        asked=Amount(resource, amount),
        beside=beside,
    )


def _with_holders(rooms: Sequence[DomainRoom], holders: Holders) -> tuple[DomainRoom, ...]:
    """Add the gangs that hold the nearest nodes.

    Looks at every running pod, once per resource.
    """
    nearest = [each.nearest for each in rooms if each.nearest is not None]
    by_resource = {
        resource: holders.of((each.node for each in nearest), resource)
        for resource in {each.resource for each in nearest}
    }
    return tuple(
        each
        if each.nearest is None
        else structs.replace(
            each,
            nearest=structs.replace(
                each.nearest, holders=by_resource[each.nearest.resource][each.nearest.node]
            ),
        )
        for each in rooms
    )
