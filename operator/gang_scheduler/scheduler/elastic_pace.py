"""How many workers of an elastic gang may be bound now.

A gang starts with as many workers as fit. From then on it grows when the cooldown since its last
change has passed, by whole steps, or by fewer to reach its maximum. Losses that were no decision
of the scheduler are replaced at any time.

A gang in mode `Replicas` has as many members as the pace allows: they are bound as they come, up to
its maximum, unless they replace victims. `due_change` says how many there should be.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gang_scheduler.model.causes.gangs import (
    BeyondMaxWorkers,
    CoolingDown,
    ReplicasContested,
    ReplicasOutside,
    StepIncomplete,
)
from gang_scheduler.model.gangs import (
    APART_SECONDS,
    ChangeReason,
    ElasticSize,
    GangGroup,
    Replicas,
    ReplicasChange,
    WrittenReplicas,
    signature,
)
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.pods import Elastic
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot

LOWERED_SECONDS: Final = 60
"""How long replacements of victims wait in mode `Replicas`: the replicas are reduced by then."""


def cooldown_end(size: ElasticSize, now: int) -> int | None:
    """Return when a gang may grow again, in seconds since the epoch; None if it may now."""
    if size.changed_at is None:
        return None
    wait = size.elastic.up_cooldown
    if size.elastic.by_replicas:
        wait = LOWERED_SECONDS if size.preempted else 0
    until = size.changed_at + wait
    return until if now < until else None


def most_members(size: ElasticSize, now: int) -> int:
    """Return how many more workers may be bound now, before `in_whole_steps` rounds that down."""
    limit = size.elastic.max_workers
    if cooldown_end(size, now) is not None:
        limit = min(limit, _replaced(size))
    return max(0, limit - size.bound)


def in_whole_steps(size: ElasticSize, number: int) -> int:
    """Return the largest number of workers, up to a given one, that makes whole steps."""
    elastic = size.elastic
    number = min(number, max(0, elastic.max_workers - size.bound))
    if elastic.by_replicas:
        return number
    after = size.bound + number
    if size.changed_at is None or after == elastic.max_workers or after <= _replaced(size):
        return number
    base = max(size.bound, _replaced(size))
    return base + (after - base) // elastic.up_step * elastic.up_step - size.bound


def _replaced(size: ElasticSize) -> int:
    """Return the number of workers up to which the gang may replace lost ones."""
    return max(size.after_change, size.elastic.min_workers)


# A snapshot without members that must wait by the pace of their gang, and why they wait. The cycle
# does not treat them as members: it places, reserves and evicts nothing for them.


@dataclass(frozen=True, slots=True, eq=False)
class PacedSnapshot:
    """The snapshot that a cycle decides on, and the refusals for gangs with held-back members."""

    snapshot: Snapshot
    held: Mapping[GangKey, Refused]

    def with_held_back(self, plan: Plan) -> Plan:
        """Return the plan with a reason for members that are held back, gang by gang.

        If a gang waits for something else, only that is reported. For an untried gang, nothing is
        reported.
        """
        if not self.held:
            return plan
        others = {each.gang.key for each in plan.refused} | plan.untried
        held = (refused for key, refused in self.held.items() if key not in others)
        return replace(plan, refused=(*plan.refused, *held))


def hold_back(snapshot: Snapshot) -> PacedSnapshot:
    """Return a snapshot without the members that are held back; the same one if none is."""
    held = {each.gang.key: each for each in _held_back(snapshot)}
    if not held:
        return PacedSnapshot(snapshot, held)
    left = (_without_held_back(group, held) for group in snapshot.groups)
    groups = tuple(group for group in left if any(gang.pending for gang in group.gangs))
    return PacedSnapshot(replace(snapshot, groups=groups), held)


def _held_back(snapshot: Snapshot) -> Iterator[Refused]:
    now = snapshot.taken_at
    for gang in (gang for group in snapshot.groups for gang in group.gangs):
        if gang.elastic_size is None or gang.problem is not None:
            continue
        workers = [pod for pod in gang.pending if gang.elastic_size.elastic.counts(pod)]
        most = min(most_members(gang.elastic_size, now), len(workers))
        number = in_whole_steps(gang.elastic_size, most)
        if number < len(workers):
            cause = _cause(gang.key, gang.elastic_size, now, is_step=number < most)
            pods = tuple(workers[number:])
            yield Refused(gang, Reason.ELASTIC_LIMIT, pods, cause=cause, left_over=True)


def _cause(key: GangKey, size: ElasticSize, now: int, *, is_step: bool) -> Cause:
    """Return why workers are held back; `is_step` if they are too few for another step."""
    if is_step:
        return StepIncomplete(key, size.elastic.up_step)
    until = cooldown_end(size, now)
    if until is not None and size.bound < size.elastic.max_workers:
        return CoolingDown(key, until)
    return BeyondMaxWorkers(key, size.elastic.max_workers)


def _without_held_back(group: GangGroup, held: Mapping[GangKey, Refused]) -> GangGroup:
    """Return the group without members that are held back.

    The result is the same object while the members are the same.
    """
    concerned = tuple(held[gang.key] for gang in group.gangs if gang.key in held)
    if not concerned:
        return group
    numbers = tuple(len(each.pods) for each in concerned)
    return group.cached(f"held_back{numbers}", (), lambda: _without_pods(group, held))


def _without_pods(group: GangGroup, held: Mapping[GangKey, Refused]) -> GangGroup:
    gangs = []
    for gang in group.gangs:
        gone = {pod.uid for pod in held[gang.key].pods} if gang.key in held else set()
        left = tuple(pod for pod in gang.pending if pod.uid not in gone)
        gangs.append(replace(gang, pending=left) if gone else gang)
    return replace(group, gangs=tuple(gangs))


# How many replicas a workload has in mode `Replicas`. It starts at its own number. From then on it
# gets more when a trial finds room for them, by steps and after the cooldown, and loses those that
# wait in vain or that a preemption has taken. A number from another writer is the new base; outside
# of the bounds, or twice in a short time, it ends all changes.

VAIN_SECONDS: Final = 120
"""How long members may wait before the number of replicas is lowered again."""
LONGEST_WAIT_SECONDS: Final = 3600
CONTEST_SECONDS: Final = 600
"""If another writer changes the replicas twice within this time, the operator leaves them alone."""


@dataclass(frozen=True, slots=True)
class ReplicaCounts:
    """The members of a gang: `elastic_size` counts those with a node, and `waiting` those without.

    `waiting_since` is when the oldest waiting member was created, in seconds since the epoch.
    `names_waiting` are the names of the waiting members.
    """

    elastic_size: ElasticSize
    waiting: int = 0
    waiting_since: float = 0
    names_waiting: tuple[str, ...] = ()


def due_change(
    counts: ReplicaCounts, found: Replicas, now: int, *, edited_at: int | None = None, fits: int = 0
) -> ReplicasChange | None:
    """Return the change of the replicas that is due; None for no change.

    `edited_at` is when another writer has changed the replicas, in seconds since the epoch. `fits`
    is the number of further workers for which a trial has found room. A change stays between the
    minimum and the maximum, and comes at least APART_SECONDS after the last one.
    """
    elastic, written = counts.elastic_size.elastic, found.written
    if found.is_fresh(now):
        return None
    vain = 0 if written is None else written.vain
    why = why_lowered(counts, now)
    if why is not None:
        ends_waiting = found.drops_highest or found.ends_named
        left = found.number - counts.waiting if ends_waiting else counts.elastic_size.bound
        after = max(elastic.min_workers, left)
        failed = (
            why is ChangeReason.NO_ROOM
            and written is not None
            and written.why == ChangeReason.ROOM_FREE
        )
        made = ReplicasChange(found.number, after, why, vain + 1 if failed else vain)
        return made if after < found.number else None
    step = min(fits, growth(counts, found.written, edited_at, now))
    if not step or counts.elastic_size.bound != found.number:
        return None
    if written is not None and written.why == ChangeReason.ROOM_FREE:
        vain = 0
    return ReplicasChange(found.number, found.number + step, ChangeReason.ROOM_FREE, vain)


def why_lowered(counts: ReplicaCounts, now: int) -> ChangeReason | None:
    """Return why the replicas are lowered by the members that wait; None if they are not."""
    if not counts.waiting:
        return None
    size = counts.elastic_size
    lately = size.changed_at is not None and now - size.changed_at < VAIN_SECONDS
    if size.preempted and lately and size.bound <= size.after_change:
        # The others were created in place of the victims, and there is no room for them.
        return ChangeReason.PREEMPTED
    return ChangeReason.NO_ROOM if now - counts.waiting_since >= VAIN_SECONDS else None


def growth(
    counts: ReplicaCounts, written: WrittenReplicas | None, edited_at: int | None, now: int
) -> int:
    """Return by how many workers a gang may grow now, if there is room; 0 if it may not."""
    size = counts.elastic_size
    if counts.waiting or size.changed_at is None:
        return 0
    wait, since = size.elastic.up_cooldown, max(size.changed_at, edited_at or 0)
    if written is not None:
        since = max(since, written.at)
        if written.vain and written.why == ChangeReason.NO_ROOM:
            doubled = max(wait, APART_SECONDS) * 2 ** min(written.vain, 12)
            wait = max(wait, min(doubled, LONGEST_WAIT_SECONDS))
    if now < min(since, now) + wait:
        return 0
    return max(0, min(size.elastic.up_step, size.elastic.max_workers - size.bound))


def why_stopped(elastic: Elastic, found: Replicas, edits: Sequence[int], now: int) -> Cause | None:
    """Return why the operator no longer changes the replicas of a gang; None if it does.

    `edits` are the times when other writers changed the replicas, in seconds since the epoch.
    """
    least, most = elastic.min_workers, elastic.max_workers
    if not least <= found.number <= most:
        return ReplicasOutside(found.number, least, most, found.editor)
    was_stopped = found.written is not None and found.written.stopped == signature(elastic)
    if was_stopped or sum(now - at < CONTEST_SECONDS for at in edits) > 1:
        return ReplicasContested(CONTEST_SECONDS // 60, found.editor)
    return None
