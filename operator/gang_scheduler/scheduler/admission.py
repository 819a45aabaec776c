"""Which groups can be tried at all, and why the others cannot."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gang_scheduler.model.gangs import Gang, GangGroup, Problem, Reason
from gang_scheduler.model.plan import Refused, Warned
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler import placement_units as units
from gang_scheduler.scheduler.placement.network import replacements
from gang_scheduler.scheduler.placement_units import PlacementUnit
from gang_scheduler.scheduler.trial import Trial


@dataclass(frozen=True, slots=True)
class Verdict:
    """The units of a group that can be tried; or a refusal for each of its waiting gangs."""

    units: tuple[PlacementUnit, ...] = ()
    refusals: tuple[Refused, ...] = ()
    warnings: tuple[Warned, ...] = ()


def admit(group: GangGroup, snapshot: Snapshot, trial: Trial) -> Verdict:
    """Return what of the group is to be placed, or why it cannot be tried.

    Worked out once a group for as long as neither that nor the nodes change.
    """
    admitted = functools.partial(_admitted, group, snapshot, trial)
    if any(gang.min_resources for gang in group.gangs):
        return admitted()
    return group.derive((snapshot.nodes, snapshot.tree_specs), admitted)


def _admitted(group: GangGroup, snapshot: Snapshot, trial: Trial) -> Verdict:
    if group.problem is not None:
        return _refused_wholly(group, group.problem)
    problems = {gang.key: _problem(gang, snapshot, trial) for gang in group.gangs}
    blamed = next((gang for gang in group.gangs if problems[gang.key]), None)
    if blamed is not None:
        for_others = _waits_for(blamed, problems[blamed.key])
        refusals = (_refused(gang, problems[gang.key] or for_others) for gang in group.waiting)
        return Verdict(refusals=tuple(refusals))
    found = units.units_of(group, snapshot)
    if isinstance(found, Problem):
        return _refused_wholly(group, found)
    return Verdict(found, warnings=tuple(_warnings(found)))


def _refused_wholly(group: GangGroup, problem: Problem) -> Verdict:
    return Verdict(refusals=tuple(_refused(gang, problem) for gang in group.waiting))


def _warnings(found: tuple[PlacementUnit, ...]) -> Iterator[Warned]:
    """Yield what people should know of units that can be tried all the same."""
    for unit in found:
        if unit.scope is None:
            continue
        problems = (unit.scope.unknown, replacements.scattered(unit.bound_members, unit.scope))
        for problem in problems:
            if problem is not None:
                yield from (Warned(gang, problem) for gang in unit.gangs)


def _refused(gang: Gang, problem: Problem) -> Refused:
    return Refused(gang, problem.reason, gang.pending, detail=problem.message)


def _problem(gang: Gang, snapshot: Snapshot, trial: Trial) -> Problem | None:
    return gang.problem or _unsupported(gang) or _incomplete(gang) or _gated(gang, snapshot, trial)


def _unsupported(gang: Gang) -> Problem | None:
    for pod in gang.pending:
        if pod.pod_class.unsupported:
            fields = ", ".join(pod.pod_class.unsupported)
            message = f"pod {pod.key}: {fields} cannot be honoured by this scheduler yet"
            return Problem(Reason.UNSUPPORTED_FEATURE, message)
    return None


def _incomplete(gang: Gang) -> Problem | None:
    is_whole = not gang.pending and gang.bound >= gang.min_member
    if is_whole or gang.singly or len(gang.pending) >= gang.quorum:
        return None
    present = gang.bound + len(gang.pending)
    message = f"{present} of minMember {gang.min_member} members exist"
    return Problem(Reason.WAITING_FOR_MEMBERS, message)


def _gated(gang: Gang, snapshot: Snapshot, trial: Trial) -> Problem | None:
    """Hold minResources against what is free or held by pods that the gang may preempt.

    Not again once the gang is nominated: others may have been given what it does not need itself.
    """
    nominated = sum(1 for pod in gang.pending if pod.nominated)
    if not gang.min_resources or gang.was_whole or 0 < gang.lacking <= nominated:
        return None
    nodes = snapshot.nodes
    room = trial.free.clip(min=0).sum(axis=0)
    for priority, held in snapshot.held.items():
        if priority < gang.priority:
            room = room + held
    short = np.flatnonzero(nodes.vector(gang.min_resources) > room)
    unknown = [name for name, amount in gang.min_resources if amount and name not in nodes.axis]
    lacking = [*unknown, *(nodes.resources[column] for column in short)]
    if not lacking:
        return None
    message = f"spec.minResources: the cluster has not enough {', '.join(lacking)} free"
    return Problem(Reason.UNSCHEDULABLE, message)


def _waits_for(blamed: Gang, problem: Problem | None) -> Problem:
    why = problem.message if problem else ""
    message = f"gang {blamed.key} of the same group cannot start: {why}"
    return Problem(Reason.WAITING_FOR_GANGS, message)
