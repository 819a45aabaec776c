"""The explanation of one gang: what is decided on it, and all that it was decided on.

1. Make the cycle, and look on until the turn of the gang.
2. Ask there: which gangs come before, what is short, where, and what forbids to make room.
3. Change one thing at a time, and make the cycle again.
"""

from dataclasses import replace
from typing import Final

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.problems import NOT_IN_LINE, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.explanation import lacks
from gang_scheduler.scheduler.explanation.domains import where_of
from gang_scheduler.scheduler.explanation.evictions import evictions_of, preemption_for
from gang_scheduler.scheduler.explanation.findings import (
    Explanation,
    Surroundings,
    Verdict,
)
from gang_scheduler.scheduler.explanation.holders import Holders
from gang_scheduler.scheduler.explanation.nodes import nodes_of
from gang_scheduler.scheduler.explanation.positions import position_of
from gang_scheduler.scheduler.explanation.quotas import quota_of
from gang_scheduler.scheduler.explanation.starts import start_of
from gang_scheduler.scheduler.explanation.variants import Asked, variants_of
from gang_scheduler.scheduler.explanation.watching import Watched
from gang_scheduler.scheduler.policies import Profile

ALONE: Final = Surroundings()
HELPED: Final = frozenset(
    {
        Reason.UNSCHEDULABLE,
        Reason.WAITING_FOR_QUOTA,
        Reason.WAITING_FOR_TURN,
        Reason.JOB_LIMIT_REACHED,
        Reason.ADMISSION_DENIED,
        Reason.QUOTA_EXCEEDED,
    }
)
"""Gangs that wait so may start by a change of what they ask for, or of what is there."""


def explain(
    snapshot: Snapshot, profile: Profile, gang: GangKey, surroundings: Surroundings = ALONE
) -> Explanation:
    """Return why a gang waits, and what would help. Its verdict is that of `schedule`.

    Costs a cycle, and another one for each change that is tried: about ten in all.
    """
    group = next((each for each in snapshot.groups if _has(each, gang)), None)
    if group is None:
        return Explanation(gang, Verdict.NOTHING_WAITS)
    watched = Watched(snapshot, profile, gang)
    decided = _decided(gang, group, watched)
    turn, refused = watched.turn, decided.refused
    if turn is None or refused is None or refused.reason in NOT_IN_LINE:
        return decided
    running = surroundings.running
    room = lacks.room_beside_quota(turn, refused)
    is_short = _lacks_room(refused) or room is not None
    where = where_of(turn, Holders(running, turn), short=is_short)
    waits = decided.verdict is Verdict.WAITS and not refused.left_over
    helped = waits and refused.reason in HELPED
    quota = quota_of(turn)
    asked = Asked(snapshot, profile, group, turn, where, quota, surroundings)
    variants = variants_of(asked) if helped else None
    return replace(
        decided,
        start=start_of(turn, watched.plan, running) if helped else None,
        quota=quota,
        where=where,
        nodes=nodes_of(turn),
        evictions=evictions_of(turn, watched.plan, refused, surroundings),
        variants=variants,
        beside=lacks.in_order(room, turn, quota, variants or ()),
    )


def _decided(key: GangKey, group: GangGroup, watched: Watched) -> Explanation:
    """Return what the cycle decided, without what explains it."""
    plan = watched.plan
    refused = next((each for each in plan.refused if each.gang.key == key), None)
    placed = next((each for each in plan.placed if each.gang.key == key), None)
    verdict = Verdict.WAITS if refused is not None else Verdict.NOTHING_WAITS
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
    """Return whether members found no place: of the gang, or of another one of its group."""
    is_short = refused.misfit is not None or refused.with_group is not None
    return is_short and not refused.left_over


def _has(group: GangGroup, key: GangKey) -> bool:
    return any(gang.key == key for gang in group.gangs)
