"""Room and quota as they will be: what the first gangs of a sequence hold is free on paper."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.model.queues import Charge, FlavorResource, QueueRef
from gang_scheduler.scheduler import effort
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement import interdependent
from gang_scheduler.scheduler.placement.anywhere import Placement, assume_again, release
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.quota.forest import Forest
from gang_scheduler.scheduler.reservation.sequence import Release
from gang_scheduler.scheduler.trial import Share, Trial, shares
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


class Paper:
    """A copy of a trial and of what is charged; `place` is how many gangs of it have ended."""

    def __init__(
        self, trial: Trial, forest: Forest, profile: Profile, releases: Sequence[Release]
    ) -> None:
        self.trial = trial.copy()
        self.forest = forest.copy()
        self.releases = releases
        self.place = 0
        self.looks = 0
        """How many looks all searches have cost."""
        self._profile = profile

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
        for share in _shares(some):
            self.trial.release(share)
        for ref, charge in _charges(some).items():
            self.forest.release(ref, charge)

    def bring_back(self, some: Sequence[Release]) -> None:
        """Do the opposite."""
        for share in _shares(some):
            self.trial.assume(share)
        for ref, charge in _charges(some).items():
            self.forest.charge(ref, charge)

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


def _shares(releases: Iterable[Release]) -> list[Share]:
    """Return the room of several gangs, as one share for each class."""
    seats = [seat for each in releases if not each.nominated for seat in each.seats]
    nominated = [seat for each in releases if each.nominated for seat in each.seats]
    return [*shares(seats), *(replace(share, nominated=True) for share in shares(nominated))]


def _charges(releases: Iterable[Release]) -> dict[QueueRef, Charge]:
    sums: dict[QueueRef, Counter[FlavorResource]] = {}
    for each in releases:
        for ref, charge in each.charges:
            of_queue = sums.setdefault(ref, Counter())
            for key, amount in charge.items():
                of_queue[key] += amount
    return {ref: dict(each) for ref, each in sums.items()}
