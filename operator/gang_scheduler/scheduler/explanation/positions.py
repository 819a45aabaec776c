"""Which gangs come before one, by the order of the cycle."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import IfEmpty, Refused
from gang_scheduler.model.problems import NOT_IN_LINE, Reason
from gang_scheduler.model.queues import QueueRef
from gang_scheduler.model.refs import GangKey
from gang_scheduler.scheduler import oversized
from gang_scheduler.scheduler.explanation.findings import Position
from gang_scheduler.scheduler.explanation.watching import Turn, Watched

NEVER = frozenset({Reason.QUOTA_EXCEEDED, Reason.ADMISSION_DENIED})
"""Gangs that wait so start only once they ask for something else."""


@dataclass(frozen=True, slots=True)
class _Line:
    """The gangs that wait, those in line first; `place` is that of one of them, from 0."""

    gangs: tuple[Gang, ...]
    place: int

    def of_queue(self, queue: QueueRef | None) -> "_Line":
        before = [gang for gang in self.gangs[: self.place] if gang.queue == queue]
        after = [gang for gang in self.gangs[self.place :] if gang.queue == queue]
        return _Line((*before, *after), len(before))

    @property
    def before(self) -> tuple[Gang, ...]:
        return self.gangs[: self.place]


def position_of(key: GangKey, watched: Watched) -> Position | None:
    """Return the place of the gang that was watched; None if it is in no line."""
    turn = watched.turn
    refused = {each.gang.key: each for each in watched.plan.refused}
    if turn is None or not _is_in_line(key, refused):
        return None
    waiting = [gang for group in watched.order.values() for gang in group.waiting if gang.quorum]
    in_line = [gang for gang in waiting if _is_in_line(gang.key, refused)]
    place = next((place for place, gang in enumerate(in_line) if gang.key == key), None)
    if place is None:
        return None
    keys = {gang.key for gang in in_line}
    others = (gang for group in turn.snapshot.groups for gang in group.waiting)
    last = (gang for gang in others if gang.quorum and gang.key not in keys)
    line = _Line((*in_line, *last), place)
    queue = in_line[place].queue
    in_queue = line.of_queue(queue)
    return Position(
        *(in_queue.place + 1, len(in_queue.gangs), place + 1, len(line.gangs), queue),
        ahead=tuple(sorted(_asked(in_queue.before).items())),
        never=sum(1 for gang in in_queue.before if _never_starts(gang, refused, turn)),
    )


def _is_in_line(key: GangKey, refused: Mapping[GangKey, Refused]) -> bool:
    return key not in refused or refused[key].reason not in NOT_IN_LINE


def _never_starts(gang: Gang, refused: Mapping[GangKey, Refused], turn: Turn) -> bool:
    """Return whether a gang starts on no account as it is, whatever ends or leaves."""
    found = refused.get(gang.key)
    if found is None:
        return False
    misfit = found.misfit
    if found.reason in NEVER or found.if_empty is IfEmpty.TOO_LARGE or found.empty_flavors:
        return True
    if misfit is not None and misfit.unlabelled is not None:
        return True
    nodes, profile = turn.snapshot.nodes, turn.profile
    classes = {pod.pod_class for pod in gang.pending}
    in_vain = (each for asked in classes for each in oversized.of(asked, nodes, profile))
    return any(each.asked > each.anywhere for each in in_vain)


def _asked(gangs: Iterable[Gang]) -> Counter[str]:
    """Return what the quorums of gangs ask for."""
    asked: Counter[str] = Counter()
    for gang in gangs:
        for pod in gang.pending[: gang.quorum]:
            asked.update(dict(pod.pod_class.requests))
    return asked
