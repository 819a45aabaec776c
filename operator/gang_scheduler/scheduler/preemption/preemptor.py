"""A group that room must be made for, and the room that it has once victims have left."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.affinity.pod_affinity import PodSelector
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.plan import Misfit, Obstacle, Offers
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.effort import looks
from gang_scheduler.scheduler.placement import nominated
from gang_scheduler.scheduler.placement.anywhere import Placement
from gang_scheduler.scheduler.placement.counting import Floors
from gang_scheduler.scheduler.placement.feasible_slots import fit_if_empty
from gang_scheduler.scheduler.placement.network import gather
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.preemption.needs import places
from gang_scheduler.scheduler.trial import Share, Trial, shares
from gang_scheduler.scheduler.units.placement_units import PlacementUnit

VICTIMS: Final = "victims"
"""The name of the search for victims, by which `effort` counts it."""

Placements = dict[PlacementUnit, Placement]


class Preemptor:
    """The quorums of a group's units, and the room that there is once leaving pods have left."""

    def __init__(self, units: Sequence[PlacementUnit], trial: Trial, profile: Profile) -> None:
        self.units = units
        self.trial = trial
        self.profile = profile
        trial.effort.begin(units[0].gangs[0].key, VICTIMS)

    @functools.cached_property
    def classes(self) -> Mapping[PodClass, int]:
        """How many of the members that must start together are of each class."""
        members = (pod for unit in self.units for pod in unit.members if pod.uid in unit.required)
        return Counter(pod.pod_class for pod in members)

    @functools.cached_property
    def largest_class(self) -> tuple[PodClass, int]:
        """The class with the most members, and their number."""
        return max(self.classes.items(), key=lambda each: (each[1], each[0].requests))

    @functools.cached_property
    def floors(self) -> Floors:
        """What the members need at least, by plain counting."""
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
        """Counting says exactly whether all members fit: one class that asks for resources only."""
        asks, unit = list(self.classes), self.units[0]
        if len(asks) > 1 or len(self.units) > 1 or unit.bound_members or unit.sliced:
            return False
        alone = (*self.profile.room_filters, *self.profile.coupled_filters)
        # Spare nodes are no nodes for counting either: `open_rows` are without them.
        concerned = [each for each in alone if each.concerns(asks[0], self.trial)]
        return sum(each.obstacle is not Obstacle.SPARE for each in concerned) == 1

    @functools.cached_property
    def leans_on(self) -> frozenset[PodSelector]:
        """The selectors of pods that members may need in place, by their affinity or spread."""
        pod_affinity = [
            pod_class.pod_affinity
            for pod_class in self.classes
            if pod_class.pod_affinity is not None
        ]
        wanted = {each.affinity.selector for each in pod_affinity if each.affinity is not None}
        spread = {each.selector for some in pod_affinity for each in some.spread if each.hard}
        return frozenset(wanted | spread)

    @functools.cached_property
    def open_rows(self) -> BoolArray:
        """The nodes that could take a member of the largest class if they were empty."""
        return fit_if_empty(self.largest_class[0], self.trial, self.profile)

    def lacking_resources(self) -> frozenset[str]:
        """Return the resources of which room lacks: all that are asked for if none does alone.

        None if all members fit.
        """
        if self.fits((), None):
            return frozenset()
        names = self.trial.nodes.resources
        columns = [column for column in range(len(names)) if self.floors.least[:, column].any()]
        short = [names[column] for column in columns if not self._has_enough_of(column)]
        return frozenset(short or [names[column] for column in columns])

    def _has_enough_of(self, column: int) -> bool:
        """Return whether all members fit in some domain as far as one resource counts."""
        least = np.zeros_like(self.floors.least)
        least[:, column] = self.floors.least[:, column]
        there = places(least, self.trial.free, self.open_to)
        scope = self.units[0].scope
        if len(self.units) > 1 or scope is None or scope.must == 0:
            return bool((there.sum(axis=1) >= self.floors.needed).all())
        of_rows = scope.tree.levels[scope.must].at(np.arange(len(scope.tree.rows)))
        sums = [np.bincount(of_rows, each[scope.tree.rows]) for each in there]
        needed = np.array(self.floors.needed)[:, np.newaxis]
        return bool((np.array(sums) >= needed).all(axis=0).any())

    def free_without(self, freed: IntArray) -> IntArray:
        """Return what is free once so much more is freed, nodes by resources."""
        return self.trial.free + freed

    def place(self, within: int | None) -> Placements | None:
        """Place all members on the trial, or none; in one domain where the units must gather.

        As in `quorums`, a unit that found no place beside the others is placed first next time.
        """
        if self._is_counted and not self._has_places(()):
            # What is short of room needs no diagnosis here.
            self.trial.effort.spend(looks(len(self.trial.nodes)))
            return None
        units = self.units
        for _ in self.units:
            found = self._place_in_order(units, within)
            if not isinstance(found, PlacementUnit):
                return {unit: found[unit] for unit in self.units}
            units = [found, *(unit for unit in units if unit is not found)]
        return None

    def _place_in_order(
        self, units: Sequence[PlacementUnit], within: int | None
    ) -> Placements | PlacementUnit:
        """Place all units, or none and return the unit that found no place."""
        self.trial.effort.spend(looks(len(self.trial.nodes), len(self.classes)))
        placements = {}
        with self.trial.all_or_nothing() as attempt:
            for unit in units:
                outcome = self._place(unit, within)
                if not isinstance(outcome, Placement):
                    return unit
                placements[unit] = outcome
            attempt.commit()
        return placements

    def place_as(self, nominations: Sequence[Nominated]) -> Placements | None:
        """Place all members on their nominated nodes; None if any of that room is not free."""
        return nominated.place(self.units, nominations, self.trial, self.profile)

    def free(self, room: Iterable[Share]) -> None:
        """Release the room of leaving pods or of victims."""
        for share in room:
            self.trial.release(share)

    def fits(self, room: Iterable[Share], within: int | None) -> bool:
        """Return whether all members fit once this room is free, too. Changes nothing."""
        if self._is_counted:
            self.trial.effort.spend(looks(len(self.trial.nodes)))
            return self._has_places(room)
        with self.trial.all_or_nothing():
            self.free(room)
            return self.place(within) is not None

    @functools.cached_property
    def _is_counted(self) -> bool:
        """Whether counting alone says what fits, wherever it is."""
        return self.is_plain and self.units[0].scope is None

    def _has_places(self, room: Iterable[Share]) -> bool:
        """Return whether the nodes have places enough once this room is free, too."""
        nodes, free = self.trial.nodes, self.trial.free.copy()
        for share in room:
            free[share.rows] += share.counts[:, np.newaxis] * nodes.vector(share.pod_class.requests)
        there = places(self.floors.least, free, self.open_to)
        return int(there.sum()) >= self.units[0].quorum

    def offers(self) -> Offers | None:
        """Return what the domains offer to the first unit that fits in none of the domains."""
        if all(unit.scope is None for unit in self.units):
            return None
        with self.trial.all_or_nothing():
            outcomes = [self._place(unit, None) for unit in self.units]
        misfits = (each for each in outcomes if isinstance(each, Misfit))
        return next((each.offers for each in misfits if each.offers is not None), None)

    def _place(self, unit: PlacementUnit, within: int | None) -> Placement | Misfit:
        needed = unit.only(unit.required)
        return gather.place(needed, unit.quorum, self.trial, self.profile, within=within)


class Nominee(Preemptor):
    """A group that stays on the nodes that its members are nominated to."""

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
        """Counting does not know on which node each member must be."""
        return False

    def place(self, within: int | None) -> Placements | None:  # noqa: ARG002 - the nodes are known.
        """Place all members on their nominated nodes, or none."""
        return self.place_as(self._nominated)


def usage_of(victims: Iterable[BoundPod], nodes: NodeTable) -> list[Share]:
    """Return the shares of victims on nodes that exist."""
    rows = nodes.rows
    return shares((t.pod.pod_class, rows[t.pod.node]) for t in victims if t.pod.node in rows)
