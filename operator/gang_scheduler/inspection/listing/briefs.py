"""Why a gang waits in a few words, for a column: the one number that is short.

What has no short form is said by the first sentence of the whole message.
"""

from gang_scheduler.model.causes.admission import QuotaShort
from gang_scheduler.model.plan import Misfit, Obstacle, Oversized, Refused
from gang_scheduler.model.resources import quantity
from gang_scheduler.report.texts import room_texts
from gang_scheduler.report.texts.plurals import counted


def of(refused: Refused, ahead: int = 0) -> str:
    """Return why a gang waits in a few words; "" where there is no short form.

    `ahead` is what gangs before it take of the quota that it lacks.
    """
    if refused.with_group is not None:
        return f"starts with {refused.with_group.refused.gang.key}, which waits"
    tried = refused.preemption
    if tried is not None and tried.waits:
        return "pods leave" if not tried.victims else f"{counted(tried.victims, 'pod')} must leave"
    if isinstance(refused.cause, QuotaShort):
        return _of_quota(refused.cause, ahead)
    if refused.misfit is not None and not refused.empty_flavors:
        return _of_room(refused.misfit)
    return ""


def _of_quota(cause: QuotaShort, ahead: int) -> str:
    short = quantity(cause.resource, cause.asked - max(0, cause.available))
    where = f"in {cause.queue}" if cause.queue else "for gangs without a queue"
    taken = f", gangs before it take {quantity(cause.resource, ahead)}" if ahead else ""
    return f"{short} {cause.resource} short {where}{taken}"


def _of_room(misfit: Misfit) -> str:
    """Return how many members find room, and where most of them do."""
    short = misfit.shortage
    if misfit.nodes == 0 or misfit.unlabelled is not None:
        return room_texts.lacking(misfit)
    if short is not None and short.oversized:
        return _of_size(short.oversized[0])
    most = "at most " if misfit.at_most else ""
    if misfit.offers is not None and misfit.offers.best:
        domain, room = misfit.offers.best[0]
        if domain.path:
            return f"{domain.path[-1]} has {most}{room} of {misfit.needs}"
    if short is not None and short.obstacle is not Obstacle.RESOURCES:
        return room_texts.lacking(misfit).removeprefix("then ")
    if misfit.needs > 1:
        return f"room for {most}{misfit.fits} of {misfit.needs}"
    return room_texts.lacking(misfit)


def _of_size(found: Oversized) -> str:
    asked = f"asks {quantity(found.resource, found.asked)} {found.resource}"
    if not found.largest:
        return f"{asked}, nodes have none"
    return f"{asked}, nodes have {quantity(found.resource, found.largest)}"
