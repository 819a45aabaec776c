"""Surplus of elastic gangs in whole steps: what is more than these gives its room back."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from gang_scheduler.model.plan import Bind, Misfit
from gang_scheduler.model.pods import Pod
from gang_scheduler.scheduler.elastic import pace as paces
from gang_scheduler.scheduler.placement.anywhere import (
    Placement,
    assume_again,
    place_on,
    release,
)
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.surplus import Grown
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.units.placement_units import PlacementUnit


def in_steps(
    unit: PlacementUnit, before: Placement, grown: Grown, trial: Trial, profile: Profile
) -> Grown:
    """Return what a unit has grown to since `before`, without workers beyond whole steps."""
    came = _came(before, grown.placement)
    beyond = _beyond(unit, grown.placement.binds, came)
    if not beyond:
        return grown
    left = tuple(bind for bind in grown.placement.binds if bind.pod.uid not in beyond)
    release(grown.placement, trial)
    placement = place_on(left, trial, profile)
    if placement is None:
        # Members may need those beside which they were placed.
        assume_again(before, trial)
        placement, beyond = before, {bind.pod.uid for bind in came}
    return replace(grown, placement=placement, misfit=_misfit(grown, len(beyond), trial))


def of_payable(unit: PlacementUnit, there: Collection[str], pods: Sequence[Pod]) -> list[Pod]:
    """Return those members, of which there is quota for all, that are whole steps.

    Beside the members `there`, by their uids, that have a place already.
    """
    beyond: set[str] = set()
    for gang in unit.gangs:
        if gang.pace is None:
            continue
        own = [pod for pod in gang.pending if gang.pace.elastic.counts(pod)]
        placed = sum(pod.uid in there for pod in own)
        uids = {pod.uid for pod in pods}
        more = [pod.uid for pod in own if pod.uid in uids]
        fits = max(0, paces.whole(gang.pace, placed + len(more)) - placed)
        beyond.update(more[fits:])
    return [pod for pod in pods if pod.uid not in beyond]


def _came(before: Placement, after: Placement) -> list[Bind]:
    """Return the binds of members that had no place before."""
    uids = {bind.pod.uid for bind in before.binds}
    return [bind for bind in after.binds if bind.pod.uid not in uids]


def _beyond(unit: PlacementUnit, binds: Sequence[Bind], came: Sequence[Bind]) -> set[str]:
    """Return the uids of those that came beyond whole steps: of each gang the last in rank."""
    placed = {bind.pod.uid for bind in binds}
    new = {bind.pod.uid for bind in came}
    beyond: set[str] = set()
    for gang in unit.gangs:
        if gang.pace is None:
            continue
        workers = [pod.uid for pod in gang.pending if gang.pace.elastic.counts(pod)]
        workers = [uid for uid in workers if uid in placed]
        excess = len(workers) - paces.whole(gang.pace, len(workers))
        if excess > 0:
            beyond.update([uid for uid in workers if uid in new][-excess:])
    return beyond


def _misfit(grown: Grown, beyond: int, trial: Trial) -> Misfit:
    """Return why those beyond whole steps wait: there is no room for the rest of a step."""
    found = grown.misfit or Misfit(len(trial.nodes), fits=0, needs=1, rejections=())
    return replace(found, fits=found.fits + beyond, needs=found.needs + beyond)
