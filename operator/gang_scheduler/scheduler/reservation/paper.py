"""Room and quota as they will be: what the first gangs of a sequence hold is free on paper."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.queues import FlavorResource, QueueRef
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.anywhere import Placement, assume_again, release
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.quota.charges import add_up
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reservation.sequence import Release
from gang_scheduler.scheduler.trial import Share, Trial
from gang_scheduler.scheduler.turns.requests import Request, Way
from gang_scheduler.scheduler.units.placement_units import PlacementUnit

SPENT: Final = effort.MOST_LOOKS - 1_600
"""Counts as spent at the start of a search, so that it has 800 looks: 40 milliseconds."""

Units = Callable[[Way], Sequence[PlacementUnit]]
"""The units of a way, on the nodes of their flavors."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Where a gang is on paper, and what it is charged there."""

    ref: QueueRef
    way: Way
    placements: Mapping[PlacementUnit, Placement]


class Sum:
    """What some gangs hold together. To become the sum of others costs what differs."""

    def __init__(self, nodes: NodeTable) -> None:
        self.room: IntArray = np.zeros((len(nodes), len(nodes.resources)), dtype=np.int64)
        """The resources, of each node, of pods that take nothing else."""
        self.charges: dict[QueueRef, dict[FlavorResource, int]] = {}
        self._others: dict[tuple[PodClass, bool], Counter[int]] = {}
        self._nodes = nodes
        self._of: dict[int, Release] = {}

    def become(self, releases: Sequence[Release]) -> None:
        """Be what these gangs hold."""
        wanted = {id(each): each for each in releases}
        self._add([each for key, each in self._of.items() if key not in wanted], -1)
        self._add([each for key, each in wanted.items() if key not in self._of], 1)
        self._of = wanted

    def shares(self) -> list[Share]:
        """Return the room of pods that take more of a node than resources, for each class."""
        return [
            Share(pod_class, np.array([*rows]), np.array([*rows.values()]), nominated)
            for (pod_class, nominated), rows in self._others.items()
            if rows
        ]

    def __len__(self) -> int:
        return len(self._of)

    def _add(self, releases: Iterable[Release], sign: int) -> None:
        rows: list[int] = []
        codes: list[int] = []
        classes: dict[PodClass, int] = {}
        for each in releases:
            for ref, charge in each.charges:
                add_up(self.charges, ref, charge, sign)
            for pod_class, row in each.seats:
                if _is_plain(pod_class):
                    rows.append(row)
                    codes.append(classes.setdefault(pod_class, len(classes)))
                else:
                    others = self._others.setdefault((pod_class, each.nominated), Counter())
                    others[row] += sign
                    if not others[row]:
                        del others[row]
        if rows:
            requests = np.array([self._nodes.vector(each.requests) for each in classes])
            np.add.at(self.room, rows, sign * requests[codes])


def _is_plain(pod_class: PodClass) -> bool:
    """Return whether pods of a class take nothing of a node but resources."""
    return not (pod_class.host_ports or pod_class.selected_by) and (
        pod_class.pod_affinity is None and pod_class.storage is None
    )


class Paper:
    """A copy of a trial and of what is charged; `place` is how many gangs of it have ended.

    At first these are those of `ended`.
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
        """How many looks all searches have cost."""
        self._profile = profile
        if ended is not None:
            self._end(ended)
            self.place = len(ended)

    def go_to(self, place: int) -> None:
        """Let so many gangs have ended. Costs what differs."""
        low, high = sorted((self.place, place))
        some = self.releases[low:high]
        if place > self.place:
            self.end(some)
        else:
            self.bring_back(some)
        self.place = place

    def end(self, some: Sequence[Release]) -> None:
        """Let what is held be free."""
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

    def find(self, request: Request, ways: Sequence[Way], units_of: Units) -> Fit | None:
        """Return the first way that there is quota and room for; nothing is taken."""
        self.trial.open_spare(replacing=request.group.replacing)
        for way in ways:
            if self.forest.fits(request.ref, way.charge):
                placements = self._placements(units_of(way))
                if placements is not None:
                    return Fit(request.ref, way, placements)
        return None

    def take(self, fit: Fit) -> None:
        """Take the room and the quota of a gang."""
        for placement in fit.placements.values():
            assume_again(placement, self.trial)
        self.forest.charge(fit.ref, fit.way.charge)

    def give_back(self, fit: Fit) -> None:
        """Do the opposite."""
        for placement in fit.placements.values():
            release(placement, self.trial)
        self.forest.release(fit.ref, fit.way.charge)

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
                outcome = Quorums(trial, profile).in_any_order(asked)
        finally:
            classes = sum(len(unit.classes) for unit in asked)
            self.looks += trial.effort.spent - SPENT + effort.looks(len(trial.nodes), classes)
        return outcome if isinstance(outcome, dict) else None

    def _may_fit(self, asked: Sequence[PlacementUnit]) -> bool:
        """Return False where it is sure, and cheap to see, that units do not fit."""
        for unit in asked:
            if len(unit.classes) == 1 and not interdependent.are(
                unit.classes, self.trial, self._profile
            ):
                (pod_class,) = unit.classes
                slots = offer_slots(pod_class, self.trial, self._profile)
                if int(slots.clip(min=0, max=unit.at_least).sum()) < unit.at_least:
                    return False
        return True
