"""The preemptor: a group that needs room, and its room after victims have left."""

import copy
import functools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Misfit, Offers
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.selectors import PodSelector
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.filters import spare_nodes
from gang_scheduler.scheduler.placement import anywhere
from gang_scheduler.scheduler.placement.feasible_slots import fit_if_empty
from gang_scheduler.scheduler.placement.lower_bounds import MOST as COUNTING_MOST
from gang_scheduler.scheduler.placement.lower_bounds import Floors
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.placement.tree import gather
from gang_scheduler.scheduler.pod_affinity import number_of_columns
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY, EvictionUnit
from gang_scheduler.scheduler.preemption.eviction_units import usage_of as eviction_units_usage_of
from gang_scheduler.scheduler.trial import Placement, Share, Trial, shares

# A lower bound on the nodes that a preemptor needs, by plain counting, as victims leave some of
# them. However members are placed, they need this many places for their smallest requests
# (`placement.lower_bounds`). Only requests count here, and the set of nodes open to the members.

Shares = NDArray[np.float64]
"""Fractions of places."""
NONE: Final = 1e-9
"""Rounding errors are less than this."""


class Needs:
    """The places that the floors of a preemptor need on the nodes of `inside`.

    Victims leave only the nodes of `rows`; places on the other nodes are counted once. `open_to`
    has the shape (floors, nodes).
    """

    def __init__(
        self, floors: Floors, open_to: BoolArray, free: IntArray, inside: BoolArray, rows: IntArray
    ) -> None:
        self.rows = rows
        self.free = free[rows]
        self._least = floors.least
        others = inside.copy()
        others[rows] = False
        there = np.flatnonzero(others & open_to.any(axis=0))
        elsewhere = places(floors.least, free[there], open_to[:, there]).sum(axis=1)
        self.needed: IntArray = floors.needed - elsewhere
        self._open = open_to[:, rows]

    def places(self, free: IntArray) -> IntArray:
        """Return the places of each floor on each of the rows, if the rows have this free room."""
        return places(self._least, free, self._open)

    def parts(self, used: IntArray) -> Shares:
        """Return usage as parts of each floor's request; 0 for resources that it does not request.

        Shapes: `used` (units, rows, resources), the result (floors, units, rows, resources).
        """
        least = self._least[:, np.newaxis, np.newaxis]
        found: Shares = np.where(least > 0, used[np.newaxis] / np.maximum(least, 1), 0)
        return found

    def lacking(self, there: IntArray) -> IntArray:
        """Return the number of places that each floor lacks; 0 or less if there are enough."""
        lacking: IntArray = self.needed - there.sum(axis=1)
        return lacking

    def gains(
        self, floor: int, free: IntArray, there: IntArray, at_best: IntArray, parts: Shares
    ) -> Shares:
        """Return for each unit an upper bound on the places of a floor that its eviction adds.

        `parts` are the resources that each unit frees, as parts of the request. All units together
        add at most the sum of their bounds, and on each row at most up to `at_best` places.
        """
        request = self._least[floor]
        free_parts = np.where(request > 0, free / np.maximum(request, 1), np.inf)
        # The scarcest resource bounds the places, whatever else is freed.
        shortest = free_parts.argmin(axis=1)
        lines = np.arange(len(free))
        begun = (free_parts[lines, shortest] - there[floor]).clip(min=0)
        left = parts[:, lines, shortest]
        most = at_best[floor] - there[floor]
        gains: Shares = np.where(left > 0, np.minimum(begun + left, most), 0).sum(axis=1)
        return gains


def places(least: IntArray, free: IntArray, open_to: BoolArray) -> IntArray:
    """Return the places of each floor on nodes: (floors, nodes)."""
    asked = least > 0
    times = free[np.newaxis] // np.where(asked, least, 1)[:, np.newaxis]
    fewest = np.where(asked[:, np.newaxis], times, COUNTING_MOST).min(axis=2).clip(0, COUNTING_MOST)
    found: IntArray = np.where(open_to, fewest, 0)
    return found


def places_of(least: IntArray, free: IntArray, open_to: BoolArray) -> IntArray:
    """Return the places of each floor on nodes, floors by nodes, if one resource alone counts."""
    asked = least[:, np.newaxis]
    times = (free // np.maximum(asked, 1)).clip(0, COUNTING_MOST)
    found: IntArray = np.where(open_to, np.where(asked > 0, times, COUNTING_MOST), 0)
    return found


def cheapest_share(weights: Sequence[int], gains: Sequence[float], needed: int) -> int:
    """Return the least weight that gains the needed amount, if choices were divisible.

    If all together gain too little, return the weight of all. Plain Python is several times faster
    here than NumPy, since there are few numbers.
    """
    line = sorted([(w / g, w, g) for w, g in zip(weights, gains, strict=True) if w and g > NONE])
    lacking = needed - sum([g for w, g in zip(weights, gains, strict=True) if not w])
    total = 0.0
    for _, weight, gain in line:
        if lacking <= NONE:
            break
        total += weight * min(1.0, lacking / gain)
        lacking -= gain
    return max(0, math.ceil(total - NONE * max(1.0, total)))


def lowest_that_suffice(values: Sequence[int], gains: Sequence[float], needed: int) -> int:
    """Return the lowest value up to which choices gain enough; the highest if none does."""
    highest = NO_PRIORITY
    lacking: float = needed
    for value, gain in sorted(zip(values, gains, strict=True)):
        if lacking <= NONE:
            break
        highest = value
        lacking -= gain
    return highest


VICTIMS: Final = "victims"
"""The name under which `effort` counts the search for victims."""
COLUMNS_A_LOOK: Final = 8
"""Changing this many columns of the affinity ledger, and undoing it, takes as long as one look."""
PORTS_A_LOOK: Final = 200
"""The same for this many host ports, each counted on each node."""

Placements = dict[PlacementUnit, Placement]


class Preemptor:
    """The quorums of a group's units, and the free room after the leaving pods have left."""

    def __init__(self, units: Sequence[PlacementUnit], trial: Trial, profile: Profile) -> None:
        self.units = units
        self.trial = trial
        self.profile = profile
        trial.effort.begin(units[0].gangs[0].key, VICTIMS)
        trial.devices.next_gang()

    @functools.cached_property
    def classes(self) -> Mapping[PodClass, int]:
        """The number of members of each class that must start together."""
        members = (pod for unit in self.units for pod in unit.members if pod.uid in unit.required)
        return Counter(pod.pod_class for pod in members)

    @functools.cached_property
    def largest_class(self) -> tuple[PodClass, int]:
        """The class with the most members, and their number."""
        return max(self.classes.items(), key=lambda each: (each[1], each[0].requests))

    @functools.cached_property
    def floors(self) -> Floors:
        """The least room that the members need, by plain counting."""
        return self.trial.nodes.cached(("floors", *self.classes.items()), self._floors)

    def _floors(self) -> Floors:
        requests = np.array(
            [self.trial.nodes.vector(pod_class.requests) for pod_class in self.classes]
        )
        return Floors(requests, list(self.classes.values()))

    @functools.cached_property
    def open_to(self) -> BoolArray:
        """The nodes that could take members of each floor if they were empty."""
        fitting = [fit_if_empty(pod_class, self.trial, self.profile) for pod_class in self.classes]
        return self.floors.open_to(np.array(fitting))

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether counting is exact: the members are one class that asks only for resources."""
        unit = self.units[0]
        if len(self.classes) > 1 or len(self.units) > 1 or unit.bound_members or unit.sliced:
            return False
        return self.asks_only_for_resources

    @functools.cached_property
    def asks_only_for_resources(self) -> bool:
        """Whether members ask only for resources, and not, for example, for affinity to pods."""
        alone = (*self.profile.room_filters, *self.profile.coupled_filters)
        # Spare nodes do not count either: `open_rows` does not contain them.
        others = [each for each in alone if each.obstacle != spare_nodes.obstacle]
        return all(
            sum(each.concerns(pod_class, self.trial) for each in others) == 1
            for pod_class in self.classes
        )

    @functools.cached_property
    def required_nearby(self) -> frozenset[PodSelector]:
        """The selectors of pods that must stay for the affinity or spread of members."""
        pod_affinity = [
            pod_class.pod_affinity
            for pod_class in self.classes
            if pod_class.pod_affinity is not None
        ]
        wanted = {each.affinity.selector for each in pod_affinity if each.affinity is not None}
        spread = {each.selector for some in pod_affinity for each in some.spread if each.hard}
        return frozenset(wanted | spread)

    def is_in_the_way(self, pod_class: PodClass) -> bool:
        """Return whether pods of a class keep members away by more than their requests."""
        pod_affinity = pod_class.pod_affinity
        avoids = pod_affinity is not None and bool(pod_affinity.anti)
        return avoids or bool(pod_class.host_ports) or bool(pod_class.selected_by & self._counted)

    @functools.cached_property
    def asks_for_devices(self) -> bool:
        """Whether any member needs devices that are not allocated to it."""
        needs = (each.devices for each in self.classes)
        return any(each is not None and each.are_open for each in needs)

    @functools.cached_property
    def _counted(self) -> frozenset[PodSelector]:
        """The selectors of all pods whose presence decides where members may be."""
        asked = [each.pod_affinity for each in self.classes if each.pod_affinity is not None]
        avoided = {term.selector for each in asked for term in each.anti}
        return self.required_nearby | avoided

    @functools.cached_property
    def open_rows(self) -> BoolArray:
        """The nodes that could take a member of the largest class if they were empty."""
        return fit_if_empty(self.largest_class[0], self.trial, self.profile)

    def lacking_resources(self) -> frozenset[str]:
        """Return the resources that are short; all requested resources if no single one is short.

        Empty if all members fit.
        """
        if self.fits((), None):
            return frozenset()
        names = self.trial.nodes.resources
        columns = [column for column in range(len(names)) if self.floors.least[:, column].any()]
        short = [names[column] for column in columns if not self._has_enough_of(column)]
        return frozenset(short or [names[column] for column in columns])

    def _has_enough_of(self, column: int) -> bool:
        """Return whether all members fit in some domain if only one resource counts."""
        there = places_of(self.floors.least[:, column], self.trial.free[:, column], self.open_to)
        scope = self.units[0].scope
        if len(self.units) > 1 or scope is None or scope.must == 0:
            return bool((there.sum(axis=1) >= self.floors.needed).all())
        of_rows = scope.tree.levels[scope.must].at(np.arange(len(scope.tree.rows)))
        sums = [np.bincount(of_rows, each[scope.tree.rows]) for each in there]
        needed = np.array(self.floors.needed)[:, np.newaxis]
        return bool((np.array(sums) >= needed).all(axis=0).any())

    def free_without(self, freed: IntArray) -> IntArray:
        """Return the free resources after `freed` is added: (nodes, resources)."""
        return self.trial.free + freed

    @property
    def looks_to_place(self) -> int:
        """The number of looks that placing all members once takes."""
        return looks(len(self.trial.nodes), len(self.classes))

    def place(self, within: int | None) -> Placements | None:
        """Place all members on the trial, or none; in one domain if the units must gather.

        As in `quorums`, a unit that found no place beside the others is placed first next time.
        """
        is_short = not self._has_enough(self.trial.free)
        if is_short or (self.is_counted and not self._has_places(())):
            # A lack of room needs no diagnosis here.
            self.trial.effort.spend(looks(len(self.trial.nodes)))
            return None
        units = self.units
        for number in range(len(units)):
            # A group may have hundreds of gangs. At least one order besides the given one is
            # always tried.
            if number > 1 and not self.trial.effort.may_begin():
                return None
            found = self._place_in_order(units, within)
            if not isinstance(found, PlacementUnit):
                return {unit: found[unit] for unit in self.units}
            units = [found, *(unit for unit in units if unit is not found)]
        return None

    def _has_enough(self, free: IntArray) -> bool:
        """Return whether all nodes together have enough free room for all requests."""
        there = free[self.open_to.any(axis=0)].clip(min=0)
        # The sums may exceed 64 bits, since nodes may claim any amount.
        sums = there.sum(axis=0, dtype=np.float64)
        return bool((sums >= self._request * (1 - NONE)).all())

    @functools.cached_property
    def _request(self) -> Shares:
        """The sum of the requests of all members, by resource."""
        found: Shares = self.floors.counts.astype(np.float64) @ self.floors.requests
        return found

    def _place_in_order(
        self, units: Sequence[PlacementUnit], within: int | None
    ) -> Placements | PlacementUnit:
        """Place all units; or place none, and return the unit that found no place."""
        effort, free_devices = self.trial.effort, self.trial.devices.free_devices
        effort.spend(self.looks_to_place)
        looked, placements = free_devices.looked, {}
        try:
            with self.trial.all_or_nothing() as transaction:
                for unit in units:
                    outcome = self._place(unit, within, explained=False)
                    if not isinstance(outcome, Placement):
                        return unit
                    placements[unit] = outcome
                transaction.commit()
            return placements
        finally:
            effort.charge(int(free_devices.looked - looked))

    def place_as(self, nominations: Sequence[Nominated]) -> Placements | None:
        """Place all members on their nominated nodes; None if any of that room is not free."""
        return anywhere.place_nominated(self.units, nominations, self.trial, self.profile)

    def free(self, room: Iterable[Share]) -> None:
        """Release the room of leaving pods or of victims."""
        self.trial.release(*self._with_effort(room))

    def _with_effort(self, room: Iterable[Share]) -> Sequence[Share]:
        """Spend looks for updating affinity and ports when this room is freed; return the room."""
        room = tuple(room)
        columns = sum(number_of_columns(share.pod_class) for share in room)
        ports = sum(len(share.pod_class.host_ports) * len(share.rows) for share in room)
        self.trial.effort.spend(columns // COLUMNS_A_LOOK + ports // PORTS_A_LOOK)
        return room

    def fits(self, room: Iterable[Share], within: int | None) -> bool:
        """Return whether all members fit once this room is free as well. Changes nothing."""
        if self.is_counted:
            self.trial.effort.spend(looks(len(self.trial.nodes)))
            return self._has_places(room)
        return self.placed(room, within) is not None

    def placed(self, room: Iterable[Share], within: int | None) -> Placements | None:
        """Return the placement of all members once this room is free as well. Changes nothing."""
        with self.trial.all_or_nothing():
            self.free(room)
            return self.place(within)

    def placed_beside(self, room: Iterable[Share], within: int | None) -> Placements | None:
        """Return the placement of all members once this room is taken. Changes nothing."""
        with self.trial.all_or_nothing():
            self.trial.assume(*self._with_effort(room))
            return self.place(within)

    def stays(self, placements: Placements, room: Iterable[Share]) -> bool:
        """Return whether members may stay where they are placed if only this room becomes free."""
        number = sum(len(each.shares) for each in placements.values())
        self.trial.effort.spend(looks(len(self.trial.nodes), number))
        with self.trial.all_or_nothing():
            self.free(room)
            return all(
                anywhere.place_on(each.binds, self.trial, self.profile) is not None
                for each in placements.values()
            )

    def may_fit(self, freed: IntArray) -> bool:
        """Return False if counting alone shows that members lack room.

        `freed` is the additional free room: (nodes, resources).
        """
        free = self.free_without(freed)
        self.trial.effort.spend(looks(len(self.trial.nodes)))
        return self._has_enough(free) and self.is_enough_by_counting(free)

    def is_enough_by_counting(self, free: IntArray) -> bool:
        """Return whether each floor has places enough on all nodes together with this free room."""
        there = places(self.floors.least, free, self.open_to).sum(axis=1)
        return bool((there >= self.floors.needed).all())

    @functools.cached_property
    def is_counted(self) -> bool:
        """Whether counting alone tells exactly which members fit, in any part of the cluster."""
        return self.is_plain and self.units[0].scope is None

    def _has_places(self, room: Iterable[Share]) -> bool:
        """Return whether the nodes have enough places once this room is free as well."""
        nodes, free = self.trial.nodes, self.trial.free.copy()
        for share in room:
            free[share.rows] += share.counts[:, np.newaxis] * nodes.vector(share.pod_class.requests)
        there = places(self.floors.least, free, self.open_to)
        return int(there.sum()) >= self.units[0].quorum

    def offers(self) -> Offers | None:
        """Return how many members domains take, for the first unit that fits into none."""
        if all(unit.scope is None for unit in self.units):
            return None
        with self.trial.all_or_nothing():
            outcomes = [self._place(unit, None) for unit in self.units]
        misfits = (each for each in outcomes if isinstance(each, Misfit))
        return next((each.offers for each in misfits if each.offers is not None), None)

    def _place(
        self, unit: PlacementUnit, within: int | None, *, explained: bool = True
    ) -> Placement | Misfit:
        needed = unit.only(unit.required)
        return gather.place(
            *(needed, unit.quorum, self.trial, self.profile), within=within, explained=explained
        )


class Nominee(Preemptor):
    """A group that stays on the nodes to which its members are nominated."""

    def __init__(
        self,
        units: Sequence[PlacementUnit],
        trial: Trial,
        profile: Profile,
        nominated: Sequence[Nominated],
    ) -> None:
        super().__init__(units, trial, profile)
        self._nominated = nominated

    @functools.cached_property
    def open_rows(self) -> BoolArray:
        """The nominated nodes."""
        rows = self.trial.nodes.rows
        found: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        found[[rows[each.pod.nominated] for each in self._nominated]] = True
        return found

    @functools.cached_property
    def open_to(self) -> BoolArray:
        """The nominated nodes, for each floor."""
        found: BoolArray = super().open_to & self.open_rows
        return found

    @functools.cached_property
    def is_plain(self) -> bool:
        """Whether counting tells exactly if all members fit: never, as each member has its node."""
        return False

    def place(self, within: int | None) -> Placements | None:  # noqa: ARG002 - the nodes are known.
        """Place all members on their nominated nodes, or none."""
        return self.place_as(self._nominated)


def usage_of(victims: Iterable[BoundPod], nodes: NodeTable) -> list[Share]:
    """Return the room that victims use on each node that still exists, and the claims they use."""
    rows, uses = nodes.rows, dict[PodClass, list[tuple[str, str]]]()
    there = [each.pod for each in victims if each.pod.node in rows]
    for pod in there:
        if pod.may_use_devices(extended=bool(nodes.by_devices)):
            uses.setdefault(pod.pod_class, []).extend(pod.uses)
    found = shares((pod.pod_class, rows[pod.node]) for pod in there)
    if not uses:
        return found
    return [replace(each, uses=tuple(uses.get(each.pod_class, ()))) for each in found]


# The number of members of one class that fit on some nodes, updated as victims leave.

MOST: Final = 1_000_000
"""The slots of each node for pods that ask for nothing."""


class Slots:
    """The slots of a class by node row, before and after some bound pods are evicted.

    `open_rows` are the rows where members may be, and `request` is what one of them asks for. Only
    requests count: ports, volumes and affinities are looked at when the members are placed.
    """

    def __init__(self, pod_class: PodClass, open_rows: BoolArray, trial: Trial) -> None:
        self.nodes = trial.nodes
        self.effort = trial.effort
        self._open = open_rows
        self.request = trial.nodes.vector(pod_class.requests)
        self._asked = np.flatnonzero(self.request)
        self.free: IntArray = trial.free.copy()
        self.nothing: IntArray = np.zeros_like(self.request)
        self.slots = self._slots_of_rows(self.free)

    @property
    def total(self) -> int:
        """How many members fit now."""
        return int(self.slots.sum())

    def at(self, rows: IntArray, free: IntArray) -> IntArray:
        """Return the slots of nodes that have this free room."""
        if not len(self._asked):
            return np.where(self._open[rows], MOST, 0)
        times = free[:, self._asked] // self.request[self._asked]
        slots: IntArray = np.where(self._open[rows], times.min(axis=1).clip(0, MOST), 0)
        return slots

    def clears(self, row: int, freed: IntArray) -> bool:
        """Return whether a node has one more slot if this room is free in addition."""
        if not len(self._asked) or not self._open[row]:
            return False
        # This is for one row, and runs often: at() would take three times as long.
        times = (self.free[row] + freed)[self._asked] // self.request[self._asked]
        return bool(times.min() > self.slots[row])

    def gain(self, units: Sequence[EvictionUnit], sign: int = 1) -> int:
        """Return how many slots evicting units adds; with the sign -1, putting them back."""
        rows, used = eviction_units_usage_of(units, self.nodes)
        return int((self.at(rows, self.free[rows] + sign * used) - self.slots[rows]).sum())

    def total_with(self, spared: Sequence[EvictionUnit]) -> int:
        """Return the number of slots after the spared units are put back."""
        return self.total + self.gain(spared, sign=-1)

    def copy(self) -> "Slots":
        """Return a copy, which later evictions do not change."""
        other = copy.copy(self)
        other.free, other.slots = self.free.copy(), self.slots.copy()
        return other

    def with_more(self, freed: IntArray) -> IntArray:
        """Return the slots after this much more is freed: (nodes, resources)."""
        return self._slots_of_rows(self.free + freed)

    def needed_for_one_more(self, rows: IntArray) -> IntArray:
        """Return the amounts to free on these nodes for one more slot: (rows, resources)."""
        return self.request * (self.slots[rows] + 1)[:, np.newaxis] - self.free[rows]

    def without(self, leaving: Iterable[Share]) -> IntArray:
        """Return the slots after the `leaving` pods are gone."""
        free = self.free.copy()
        for share in leaving:
            used = self.nodes.vector(share.pod_class.requests)
            free[share.rows] += share.counts[:, np.newaxis] * used
        return self._slots_of_rows(free)

    def evict(self, units: Sequence[EvictionUnit], sign: int = 1) -> None:
        """Count units as evicted; with the sign -1, as put back."""
        rows, used = eviction_units_usage_of(units, self.nodes)
        self.free[rows] += sign * used
        self.slots[rows] = self.at(rows, self.free[rows])

    def restore(self, spared: Sequence[EvictionUnit]) -> None:
        """Count units as put back."""
        self.evict(spared, sign=-1)

    def _slots_of_rows(self, free: IntArray) -> IntArray:
        return self.at(np.arange(len(free)), free)
