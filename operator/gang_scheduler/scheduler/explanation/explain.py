"""The explanation of one gang: the decision, and everything that led to it.

1. Run a cycle, and keep its state at the turn of the gang.

2. Ask that state which gangs come before, what is missing and where, and why evictions do not help.

3. Change one thing at a time, and run the cycle again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gang_scheduler.model.consequences import Outlook
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.plan import IfEmpty, Misfit, Refused
from gang_scheduler.model.queues import NONE, QueueRef
from gang_scheduler.model.reasons import NOT_IN_LINE, Problem, Reason, those_with
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.explanation.cycle_at_turn import Turn, Watched
from gang_scheduler.scheduler.explanation.domains import room_of
from gang_scheduler.scheduler.explanation.evictions import evictions_of, preemption_for
from gang_scheduler.scheduler.explanation.findings import (
    Amount,
    Beside,
    Change,
    Explanation,
    Position,
    Surroundings,
    Variant,
    Verdict,
)
from gang_scheduler.scheduler.explanation.nodes import Holders, nodes_of
from gang_scheduler.scheduler.explanation.quotas import QueueQuota, quota_of
from gang_scheduler.scheduler.explanation.start_time import start_of
from gang_scheduler.scheduler.explanation.verified_changes import Asked, variants_of
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.quorums import Quorums

# The cycle checks quota before nodes, and names the first shortfall. A gang that waits for quota
# may lack room as well, and more quota would not start it. The larger shortfall is named first.

NOTHING: Final = Fraction(0)


def room_beside_quota(turn: Turn, refused: Refused) -> Refused | None:
    """Return why a gang that waits for quota would still wait if it had quota, without evictions.

    None if there is room for it.
    """
    found = _unfit(turn) if refused.reason is Reason.WAITING_FOR_QUOTA else None
    if found is None:
        return None
    gang = found[0].gangs[0]
    return Refused(gang, Reason.UNSCHEDULABLE, gang.pending, found[1])


def in_order(
    room: Refused | None, turn: Turn, quota: tuple[QueueQuota, ...], variants: Iterable[Variant]
) -> Beside | None:
    """Return the room that a gang lacks in addition to quota; None if quota alone would start it.

    Room is named first if it is the larger relative shortfall. It always comes first for gangs
    without a queue: they may use capacity that no queue was promised, so they wait for nodes.
    """
    by_quota = any(each.change is Change.MORE_QUOTA for each in variants)
    if by_quota or room is None or room.misfit is None:
        return None
    misfit = room.misfit
    missing = Fraction(misfit.needs - misfit.fits, misfit.needs) if misfit.needs else NOTHING
    without_queue = (turn.group.queue or NONE) == NONE
    return Beside(room, first=without_queue or missing >= _missing_of(quota))


def _missing_of(quota: tuple[QueueQuota, ...]) -> Fraction:
    """Return the largest missing share of any resource that the gang adds."""
    return max((Fraction(each.short, each.adds) for each in quota if each.adds), default=NOTHING)


def _unfit(turn: Turn) -> tuple[PlacementUnit, Misfit] | None:
    """Return the unit that finds no place without evictions; None if every unit finds one."""
    request = turn.request()
    first = None
    for assignment in request.assignments if request is not None else ():
        units = assignment.option.units(assignment.units, turn.snapshot)
        if isinstance(units, Problem):
            continue
        outcome = Quorums(turn.trial(), turn.profile).in_any_order(units)
        if isinstance(outcome, dict):
            return None
        first = first or outcome
    return first


# The gangs that come before one gang, in the order of the cycle.

NEVER: Final = those_with(lambda rule: rule.outlook is Outlook.IF_CHANGED)


@dataclass(frozen=True, slots=True)
class _Line:
    """The waiting gangs, gangs in line first; `place` is the index of the gang in question."""

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
    """Return the place of the gang in line; None if it is in no line."""
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
    asked = sorted(_asked(in_queue.before).items())
    return Position(
        queue=queue.name if queue is not None else None,
        place=in_queue.place + 1,
        of=len(in_queue.gangs),
        place_in_cluster=place + 1,
        of_cluster=len(line.gangs),
        ahead={name: Amount(name, number) for name, number in asked if number},
        never_start=sum(1 for gang in in_queue.before if _never_starts(gang, refused, turn)),
    )


def _is_in_line(key: GangKey, refused: Mapping[GangKey, Refused]) -> bool:
    return key not in refused or refused[key].reason not in NOT_IN_LINE


def _never_starts(gang: Gang, refused: Mapping[GangKey, Refused], turn: Turn) -> bool:
    """Return whether a gang can never start as it is, whichever other gangs end or leave."""
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
    in_vain = (each for asked in classes for each in diagnosis.oversized_of(asked, nodes, profile))
    return any(each.asked > each.anywhere for each in in_vain)


def _asked(gangs: Iterable[Gang]) -> Counter[str]:
    """Return the sum of requests of the gangs' quorums."""
    asked: Counter[str] = Counter()
    for gang in gangs:
        for pod in gang.pending[: gang.quorum]:
            asked.update(dict(pod.pod_class.requests))
    return asked


ALONE: Final = Surroundings()
HELPED: Final = those_with(lambda rule: rule.outlook is not Outlook.NONE)


def explain(
    snapshot: Snapshot, profile: Profile, gang: GangKey, surroundings: Surroundings = ALONE
) -> Explanation:
    """Return why a gang waits, and what would help. The verdict is that of `schedule`.

    Costs a cycle, and another one for each change that is tried: about ten in all.
    """
    group = next((each for each in snapshot.groups if _contains(each, gang)), None)
    if group is None:
        return Explanation(gang)
    watched = Watched(snapshot, profile, gang)
    decided = _decided(gang, group, watched)
    turn, refused = watched.turn, decided.refused
    if turn is None or refused is None or refused.reason in NOT_IN_LINE:
        return decided
    running = surroundings.running
    room = room_beside_quota(turn, refused)
    is_short = _lacks_room(refused) or room is not None
    found = room_of(turn, Holders(running, turn), short=is_short)
    waits = decided.verdict is Verdict.WAITS and not refused.left_over
    helped = waits and refused.reason in HELPED
    quota = quota_of(turn)
    asked = Asked(snapshot, profile, group, turn, found, quota, surroundings)
    variants = variants_of(asked) if helped else None
    nodes = nodes_of(turn)
    return replace(
        decided,
        start=start_of(turn, watched.plan, running) if helped else None,
        quota=tuple(each.line() for each in quota),
        room=found,
        nodes=nodes.classes,
        in_vain=nodes.in_vain,
        barred=nodes.barred,
        evictions=evictions_of(turn, watched.plan, refused, surroundings),
        variants=variants,
        beside=in_order(room, turn, quota, variants or ()),
    )


def _decided(key: GangKey, group: GangGroup, watched: Watched) -> Explanation:
    """Return the decision of the cycle, without its reasons."""
    plan = watched.plan
    refused = next((each for each in plan.refused if each.gang.key == key), None)
    placed = next((each for each in plan.placed if each.gang.key == key), None)
    verdict = Verdict.WAITS if refused is not None else None
    if placed is not None:
        verdict = Verdict.STARTS
    elif refused is not None and refused.reason is Reason.WAITING_FOR_VICTIMS:
        verdict = Verdict.MAKES_ROOM
    made = preemption_for(group, plan)
    binds = placed.binds if placed is not None else made.nominations if made is not None else ()
    return Explanation(
        key=key,
        verdict=verdict,
        gang=next(each for each in group.gangs if each.key == key),
        group=group,
        refused=refused,
        warnings=tuple(each.problem for each in plan.warned if each.gang.key == key),
        nodes_taken=tuple(dict.fromkeys(each.node for each in binds if each.pod.gang == key)),
        position=position_of(key, watched),
    )


def _lacks_room(refused: Refused) -> bool:
    """Return whether members of the gang, or of another gang of its group, found no place."""
    is_short = refused.misfit is not None or refused.with_group is not None
    return is_short and not refused.left_over


def _contains(group: GangGroup, key: GangKey) -> bool:
    return any(gang.key == key for gang in group.gangs)
