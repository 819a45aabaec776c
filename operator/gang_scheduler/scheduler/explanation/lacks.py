"""Which of several things that a gang lacks is told first: the one that is furthest from there.

The cycle names the first thing that it meets, and quota is looked at before nodes. So a gang that
waits for quota may lack room as well, and quota that is freed would not start it.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from gang_scheduler.model.plan import Misfit, Refused
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import NONE
from gang_scheduler.scheduler.explanation.findings import Beside, Change, QuotaLine, Variant
from gang_scheduler.scheduler.explanation.watching import Turn
from gang_scheduler.scheduler.quorums import Quorums
from gang_scheduler.scheduler.units.placement_units import PlacementUnit

NOTHING: Final = Fraction(0)


def room_beside_quota(turn: Turn, refused: Refused) -> Refused | None:
    """Return what a gang that waits for quota would be told with quota, but for evictions.

    None if there is room for it.
    """
    found = _unfit(turn) if refused.reason is Reason.WAITING_FOR_QUOTA else None
    if found is None:
        return None
    gang = found[0].gangs[0]
    return Refused(gang, Reason.UNSCHEDULABLE, gang.pending, found[1])


def in_order(
    room: Refused | None, turn: Turn, quota: tuple[QuotaLine, ...], variants: Iterable[Variant]
) -> Beside | None:
    """Return the room that a gang lacks beside quota; None if quota alone would start it.

    It comes first where more of it is missing, part for part. Gangs without a queue have what the
    nodes have and no queue was promised: where their nodes are full, room is what they lack.
    """
    by_quota = any(each.change is Change.MORE_QUOTA for each in variants)
    if by_quota or room is None or room.misfit is None:
        return None
    misfit = room.misfit
    missing = Fraction(misfit.needs - misfit.fits, misfit.needs) if misfit.needs else NOTHING
    without_queue = (turn.group.queue or NONE) == NONE
    return Beside(room, first=without_queue or missing >= _missing_of(quota))


def _missing_of(quota: tuple[QuotaLine, ...]) -> Fraction:
    """Return which part of what is asked for is not there: of that of which most is missing."""
    return max((Fraction(each.short, each.adds) for each in quota if each.adds), default=NOTHING)


def _unfit(turn: Turn) -> tuple[PlacementUnit, Misfit] | None:
    """Return what finds no place at the turn of the group, with no pod evicted; None if all do."""
    request = turn.request()
    first = None
    for way in request.ways if request is not None else ():
        units = way.offer.units(way.units, turn.snapshot)
        if isinstance(units, Problem):
            continue
        outcome = Quorums(turn.trial(), turn.profile).in_any_order(units)
        if isinstance(outcome, dict):
            return None
        first = first or outcome
    return first
