"""A snapshot without the members that their gangs' pace holds back, and why these wait.

They are no members for the cycle: nothing is placed, reserved or evicted for them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gang_scheduler.model.causes.members import BeyondMaxWorkers, CoolingDown, StepIncomplete
from gang_scheduler.model.gangs import GangGroup, Pace
from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.problems import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.elastic import pace as paces


@dataclass(frozen=True, slots=True, eq=False)
class AtPace:
    """What a cycle decides on, and the refusal of the members of each gang that are held back."""

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
        most = min(paces.most(gang.pace, now), len(workers))
        number = paces.whole(gang.pace, most)
        if number < len(workers):
            cause = _cause(gang.key, gang.pace, now, is_step=number < most)
            pods = tuple(workers[number:])
            yield Refused(gang, Reason.ELASTIC_LIMIT, pods, cause=cause, left_over=True)


def _cause(key: GangKey, pace: Pace, now: int, *, is_step: bool) -> Cause:
    """Return why workers are held back; `is_step`: there are too few for one step more."""
    if is_step:
        return StepIncomplete(key, pace.elastic.up_step)
    until = paces.cools_until(pace, now)
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
