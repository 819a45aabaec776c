"""Which gangs come before one, by the order of the cycle."""

from collections import Counter
from collections.abc import Iterable

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.problems import Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler.explanation.findings import Position
from gang_scheduler.scheduler.explanation.watching import Watched, keys_of

INCOMPLETE = frozenset(
    {
        Reason.WAITING_FOR_MEMBERS,
        Reason.WAITING_FOR_GANGS,
        Reason.POD_GROUP_NOT_FOUND,
        Reason.INVALID_SPEC,
        Reason.UNKNOWN_LAYER,
        Reason.UNSUPPORTED_FEATURE,
        Reason.QUEUE_NOT_FOUND,
        Reason.INTERNAL_ERROR,
    }
)
"""Gangs that wait so are not in line."""


def position_of(watched: Watched) -> Position | None:
    """Return the place of the gang that was watched; None if it had no turn."""
    if watched.turn is None:
        return None
    own, group = watched.turn.group.gangs[0].key, watched.turn.group
    not_in_line = _incomplete(watched.plan)
    line = [each for each in watched.order.values() if not_in_line.isdisjoint(keys_of(each))]
    in_queue = [each for each in line if each.queue == group.queue]
    place = _place(own, line)
    if place is None:
        return None
    place_in_queue = _place(own, in_queue) or 1
    before = in_queue[: place_in_queue - 1]
    ahead = tuple(sorted(_asked(before).items()))
    return Position(place_in_queue, len(in_queue), place, len(line), group.queue, ahead)


def _incomplete(plan: Plan) -> set[GangKey]:
    return {each.gang.key for each in plan.refused if each.reason in INCOMPLETE}


def _place(own: object, line: Iterable[GangGroup]) -> int | None:
    found = (place for place, each in enumerate(line, start=1) if each.gangs[0].key == own)
    return next(found, None)


def _asked(groups: Iterable[GangGroup]) -> Counter[str]:
    """Return what the quorums of groups ask for."""
    asked: Counter[str] = Counter()
    for gang in (gang for group in groups for gang in group.waiting):
        for pod in gang.pending[: gang.quorum]:
            asked.update(dict(pod.pod_class.requests))
    return asked
