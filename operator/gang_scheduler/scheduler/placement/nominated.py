"""Members on the nodes that they are nominated to: all of them, or none."""

from collections.abc import Sequence

import numpy as np

from gang_scheduler.model.nodes import ABSENT
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.scheduler.placement import positions
from gang_scheduler.scheduler.placement.anywhere import Placement, place_on
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Trial
from gang_scheduler.scheduler.units.placement_units import PlacementUnit


def place(
    units: Sequence[PlacementUnit], nominations: Sequence[Nominated], trial: Trial, profile: Profile
) -> dict[PlacementUnit, Placement] | None:
    """Take room for the quorums on their nominated nodes, if all of it is free.

    Labels may have changed since the nomination, or replacements of bound members be elsewhere: the
    topology requests of the units must hold, too.
    """
    nodes = {each.pod.uid: each.pod.nominated for each in nominations}
    if not nodes or any(unit.required - nodes.keys() for unit in units):
        return None
    placements = {}
    with trial.all_or_nothing() as attempt:
        for unit in units:
            needed = unit.only(unit.required).members
            binds = tuple(Bind(pod, nodes[pod.uid]) for pod in needed)
            placement = place_on(binds, trial, profile)
            if placement is None or not _gathers(unit, binds):
                return None
            placements[unit] = placement
        attempt.commit()
    return placements


def _gathers(unit: PlacementUnit, binds: Sequence[Bind]) -> bool:
    """Return whether members on these nodes and bound members gather as they must."""
    scope = unit.scope
    if scope is None:
        return True
    together = unit.after(binds)
    places = positions.places_of(together.bound_members, scope.tree)
    domains = np.unique(scope.tree.levels[scope.must].at(places[places != ABSENT]))
    if scope.must and (len(domains) > 1 or (places == ABSENT).any()):
        return False
    return all(positions.slices_hold(part, scope.tree) for part in together.parts)
