"""Members on the nodes that they are nominated to: all of them, or none."""

from collections.abc import Sequence

from gang_scheduler.model.plan import Bind
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.placement.gangs import Placement, place_on
from gang_scheduler.scheduler.profile import Profile
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.units import Unit


def place(
    units: Sequence[Unit], kept: Sequence[Nominated], trial: Trial, profile: Profile
) -> dict[Unit, Placement] | None:
    """Take room for the quorums on the nodes that they are nominated to, if all of it is free."""
    nodes = {each.pod.uid: each.pod.nominated for each in kept}
    if not nodes or any(unit.required - nodes.keys() for unit in units):
        return None
    placements = {}
    with trial.all_or_nothing() as attempt:
        for unit in units:
            needed = unit.only(unit.required).members
            binds = tuple(Bind(pod, nodes[pod.uid]) for pod in needed)
            placement = place_on(binds, trial, profile)
            if placement is None:
                return None
            placements[unit] = placement
        attempt.keep()
    return placements
