"""Places members beyond the quorum, where room is left that is kept for no other gang."""

from collections.abc import Iterable
from dataclasses import dataclass

from gang_scheduler.model.plan import Misfit
from gang_scheduler.scheduler.placement.anywhere import (
    Placement,
    assume_again,
    joined,
    place_on,
    release,
)
from gang_scheduler.scheduler.placement.network import gather
from gang_scheduler.scheduler.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A unit with the surplus that fits. `misfit` says why the rest of it does not, if any waits.

    `moved`: the quorum is elsewhere now, so that others may fit where it was.
    """

    placement: Placement
    misfit: Misfit | None = None
    moved: bool = False


class Surplus:
    """Places surplus on one trial."""

    def __init__(self, trial: Trial, profile: Profile) -> None:
        self._trial = trial
        self._profile = profile

    def grow(
        self,
        unit: PlacementUnit,
        placed: Placement,
        others: Iterable[PlacementUnit],
        *,
        moving: bool,
    ) -> Grown:
        """Place a unit anew with all its members; where they do not all fit, as many as do.

        `others` are the other units that have a place: where one of them is there because of where
        this quorum is, that stays. So it does unless it is `moving`.
        """
        everyone = None
        if moving and placed.binds and not _is_leant_on(unit, others):
            everyone = self._anew(unit, placed)
        placement, misfit = self._with_more(unit, everyone or placed)
        return Grown(placement, misfit, moved=everyone is not None)

    def without(
        self, unit: PlacementUnit, whole: Placement, number: int, others: Iterable[PlacementUnit]
    ) -> Placement:
        """Free the room of the surplus of a unit; return the quorum, of so many members.

        All of it stays where a part of it alone might not be as the members ask for.
        """
        if unit.sliced or unit.step > 1 or _is_leant_on(unit, others):
            return whole
        first = sorted(whole.binds, key=lambda bind: bind.pod.uid not in unit.required)[:number]
        release(whole, self._trial)
        quorum = place_on(tuple(first), self._trial, self._profile)
        if quorum is None:
            assume_again(whole, self._trial)
        return quorum or whole

    def _anew(self, unit: PlacementUnit, quorum: Placement) -> Placement | None:
        """Place the members all at once, if no fewer of each gang have a place then."""
        release(quorum, self._trial)
        everyone = self._place(unit, len(quorum.binds))
        if isinstance(everyone, Placement):
            if _has_all(everyone, quorum, unit):
                return everyone
            # Placing all at once may pack several classes worse than the quorum alone was.
            release(everyone, self._trial)
        assume_again(quorum, self._trial)
        return None

    def _with_more(self, unit: PlacementUnit, placed: Placement) -> tuple[Placement, Misfit | None]:
        """Add members for as long as any fits."""
        while (rest := unit.after(placed.binds)).members:
            more = self._place(rest, rest.step)
            if isinstance(more, Misfit):
                return placed, more
            placed = joined(unit.members, placed, more)
        return placed, None

    def _place(self, unit: PlacementUnit, at_least: int) -> Placement | Misfit:
        self._trial.effort.begin(unit.gangs[0].key)
        return gather.place(unit, at_least, self._trial, self._profile)


def _is_leant_on(unit: PlacementUnit, others: Iterable[PlacementUnit]) -> bool:
    """Tell whether others have their places because of where the quorum of this unit is."""
    meant = {selector for pod in unit.members for selector in pod.pod_class.selected_by}
    concerned = (other for other in others if meant and other is not unit)
    return any(not meant.isdisjoint(other.approached) for other in concerned)


def _has_all(everyone: Placement, quorum: Placement, unit: PlacementUnit) -> bool:
    """Tell whether no member of the quorum was left out that other gangs of the unit need."""
    if len(unit.gangs) == 1:
        return True
    return {bind.pod.uid for bind in quorum.binds} <= {bind.pod.uid for bind in everyone.binds}
