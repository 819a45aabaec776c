"""How many workers of an elastic gang may be bound now.

A gang starts with as many workers as fit. From then on it grows when the cooldown since its last
change has passed, by whole steps, or by fewer to reach its maximum. Losses that were no decision
of the scheduler are replaced at any time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gang_scheduler.model.causes.gangs import BeyondMaxWorkers, CoolingDown, StepIncomplete
from gang_scheduler.model.gangs import GangGroup, Pace
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot


def cools_until(pace: Pace, now: int) -> int | None:
    """Return when a gang may grow again, in seconds since the epoch; None if it may now."""
    if pace.changed_at is None:
        return None
    until = pace.changed_at + pace.elastic.up_cooldown
    return until if now < until else None


def most_members(pace: Pace, now: int) -> int:
    """Return how many more workers may be bound now; less may be, by `whole`."""
    limit = pace.elastic.max_workers
    if cools_until(pace, now) is not None:
        limit = min(limit, _replaced(pace))
    return max(0, limit - pace.bound)


def whole(pace: Pace, number: int) -> int:
    """Return the most workers, of a number that could be bound, that are whole steps."""
    elastic = pace.elastic
    number = min(number, max(0, elastic.max_workers - pace.bound))
    after = pace.bound + number
    if pace.changed_at is None or after == elastic.max_workers or after <= _replaced(pace):
        return number
    base = max(pace.bound, _replaced(pace))
    return base + (after - base) // elastic.up_step * elastic.up_step - pace.bound


def _replaced(pace: Pace) -> int:
    """Return the number of workers up to which the gang may replace lost ones."""
    return max(pace.size, pace.elastic.min_workers)


# A snapshot without the members that the pace of their gang holds back, and why these members
# wait. The cycle does not treat them as members: it places, reserves and evicts nothing for them.


@dataclass(frozen=True, slots=True, eq=False)
class AtPace:
    """The snapshot that a cycle decides on, and the refusals for gangs with held-back members."""

    snapshot: Snapshot
    held: Mapping[GangKey, Refused]

    def told(self, plan: Plan) -> Plan:
        """Return the plan with a reason for members that are held back, gang by gang.

        A gang that waits for something else is told that alone, and one that is untried nothing.
        """
        others = {each.gang.key for each in plan.refused} | plan.untried
        held = (refused for key, refused in self.held.items() if key not in others)
        return replace(plan, refused=(*plan.refused, *held)) if self.held else plan


def at_pace(snapshot: Snapshot) -> AtPace:
    """Return a snapshot without the members that are held back; the same one if none is."""
    held = {each.gang.key: each for each in _held(snapshot)}
    if not held:
        return AtPace(snapshot, held)
    left = (_without(group, held) for group in snapshot.groups)
    groups = tuple(group for group in left if any(gang.pending for gang in group.gangs))
    return AtPace(replace(snapshot, groups=groups), held)


def _held(snapshot: Snapshot) -> Iterator[Refused]:
    now = snapshot.taken_at
    for gang in (gang for group in snapshot.groups for gang in group.gangs):
        if gang.pace is None or gang.problem is not None:
            continue
        workers = [pod for pod in gang.pending if gang.pace.elastic.counts(pod)]
        most = min(most_members(gang.pace, now), len(workers))
        number = whole(gang.pace, most)
        if number < len(workers):
            cause = _cause(gang.key, gang.pace, now, is_step=number < most)
            pods = tuple(workers[number:])
            yield Refused(gang, Reason.ELASTIC_LIMIT, pods, cause=cause, left_over=True)


def _cause(key: GangKey, pace: Pace, now: int, *, is_step: bool) -> Cause:
    """Return why workers are held back; `is_step`: there are too few for one step more."""
    if is_step:
        return StepIncomplete(key, pace.elastic.up_step)
    until = cools_until(pace, now)
    if until is not None and pace.bound < pace.elastic.max_workers:
        return CoolingDown(key, until)
    return BeyondMaxWorkers(key, pace.elastic.max_workers)


def _without(group: GangGroup, held: Mapping[GangKey, Refused]) -> GangGroup:
    """Return the group without members that are held back: the same one for the same members."""
    concerned = tuple(held[gang.key] for gang in group.gangs if gang.key in held)
    if not concerned:
        return group
    numbers = tuple(len(each.pods) for each in concerned)
    return group.derive(f"at_pace{numbers}", (), lambda: _reduced(group, held))


def _reduced(group: GangGroup, held: Mapping[GangKey, Refused]) -> GangGroup:
    gangs = []
    for gang in group.gangs:
        gone = {pod.uid for pod in held[gang.key].pods} if gang.key in held else set()
        left = tuple(pod for pod in gang.pending if pod.uid not in gone)
        gangs.append(replace(gang, pending=left) if gone else gang)
    return replace(group, gangs=tuple(gangs))
