"""Which groups can be tried at all, and why the other groups cannot."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gang_scheduler.model.causes.devices import ComputeDomainApart
from gang_scheduler.model.causes.gangs import (
    DomainsTooSmall,
    MembersMissing,
    ResourcesMissing,
    RoleFull,
)
from gang_scheduler.model.causes.specs import FieldsUnsupported, OtherGangCannotStart
from gang_scheduler.model.device_needs import Devices
from gang_scheduler.model.gangs import Gang, GangGroup, OwnDomains, Role
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Refused, Warned
from gang_scheduler.model.pods import one_of_each
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.compute_domains import NVLINK_DOMAIN, claims_channel
from gang_scheduler.scheduler.placement import placement_units
from gang_scheduler.scheduler.placement.placement_units import PlacementUnit
from gang_scheduler.scheduler.placement.tree import replacements
from gang_scheduler.scheduler.trial import Trial


@dataclass(frozen=True, slots=True)
class Verdict:
    """The units of a group that can be tried; or a refusal for each of its waiting gangs."""

    units: tuple[PlacementUnit, ...] = ()
    refusals: tuple[Refused, ...] = ()
    warnings: tuple[Warned, ...] = ()


def check(group: GangGroup, snapshot: Snapshot, trial: Trial) -> Verdict:
    """Return the units of the group to place, or why the group cannot be tried.

    The result is kept until the group or the nodes change, except for a group with minResources.
    """
    checked = functools.partial(_verdict, group, snapshot, trial)
    if group.has_min_resources:
        return checked()
    return group.cached("checked", (snapshot.nodes, snapshot.tree_specs), checked)


def refuses(group: GangGroup, snapshot: Snapshot, trial: Trial) -> bool:
    """Return whether a group without a topology request cannot be tried.

    Does not create its virtual members, which stand for pods that do not exist yet.
    """
    if group.problem is not None:
        return True
    return any(_problem(gang, snapshot, trial) is not None for gang in group.gangs)


def _verdict(group: GangGroup, snapshot: Snapshot, trial: Trial) -> Verdict:
    if group.problem is not None:
        return _refused_wholly(group, group.problem)
    problems = {gang.key: _problem(gang, snapshot, trial) for gang in group.gangs}
    found = next(((key, each) for key, each in problems.items() if each is not None), None)
    if found is not None:
        blamed, problem = found
        for_others = Problem(Reason.WAITING_FOR_GANGS, OtherGangCannotStart(blamed, problem.cause))
        refusals = (_refusal(gang, problems[gang.key] or for_others) for gang in group.waiting)
        return Verdict(refusals=tuple(refusals))
    sited = placement_units.units_of(group, snapshot)
    if isinstance(sited, Problem):
        return _refused_wholly(group, sited)
    return Verdict(sited, warnings=tuple(_warnings(sited, snapshot.devices)))


def _refused_wholly(group: GangGroup, problem: Problem) -> Verdict:
    return Verdict(refusals=tuple(_refusal(gang, problem) for gang in group.waiting))


def _warnings(found: tuple[PlacementUnit, ...], devices: Devices) -> Iterator[Warned]:
    """Yield warnings about units that can be tried nevertheless."""
    for unit in found:
        problems = [_not_gathered(unit, devices)]
        if unit.scope is not None:
            problems += unit.scope.unknown, replacements.scattered(unit.bound_members, unit.scope)
        for problem in problems:
            if problem is not None:
                yield from (Warned(gang, problem) for gang in unit.gangs)


def _not_gathered(unit: PlacementUnit, devices: Devices) -> Problem | None:
    """Return a problem if members with channels of a ComputeDomain may be placed far apart."""
    alone = len(unit.members) + len(unit.bound_members) < 2
    if alone or (unit.scope is not None and unit.scope.must):
        return None
    # This runs for every waiting gang: members are not counted by class for it.
    with_claims = (pod for pod in unit.members if pod.pod_class.devices is not None)
    if not any(claims_channel(pod, devices) for pod in with_claims):
        return None
    return Problem(Reason.NOT_GATHERED, ComputeDomainApart(NVLINK_DOMAIN))


def _refusal(gang: Gang, problem: Problem) -> Refused:
    return Refused(gang, problem.reason, gang.pending, cause=problem.cause)


def _problem(gang: Gang, snapshot: Snapshot, trial: Trial) -> Problem | None:
    wrong = gang.problem or _unsupported(gang) or _claims(gang) or _incomplete(gang) or _full(gang)
    return wrong or _lacks_min_resources(gang, snapshot, trial)


def _unsupported(gang: Gang) -> Problem | None:
    for pod in one_of_each(gang.pending):
        if pod.pod_class.unsupported:
            cause = FieldsUnsupported(pod.pod_class.unsupported, pod.key)
            return Problem(Reason.UNSUPPORTED_FEATURE, cause)
    return None


def _claims(gang: Gang) -> Problem | None:
    """Return the first problem of a member's claims for devices."""
    for pod in one_of_each(gang.pending):
        if pod.pod_class.devices is not None and pod.pod_class.devices.problem is not None:
            return pod.pod_class.devices.problem
    return None


def _incomplete(gang: Gang) -> Problem | None:
    missing = gang.missing
    is_whole = not gang.pending and not gang.lacking
    if is_whole or gang.placed_singly or (len(gang.pending) >= gang.quorum and not missing):
        return None
    present = gang.bound + len(gang.pending)
    return Problem(Reason.WAITING_FOR_MEMBERS, MembersMissing(present, gang.min_member, missing))


def _full(gang: Gang) -> Problem | None:
    """Return a problem if no waiting member may be bound, because its role is at its maximum."""
    role = gang.full_role() if gang.roles and gang.pending and not gang.startable else None
    return limit_of(role) if role is not None else None


def limit_of(role: Role) -> Problem:
    """Return the problem of members that wait because their role is at its maximum."""
    return Problem(Reason.ELASTIC_LIMIT, RoleFull(role.name, role.max_member or 0))


def _lacks_min_resources(gang: Gang, snapshot: Snapshot, trial: Trial) -> Problem | None:
    """Check minResources against resources that are free or held by pods the gang may preempt.

    This check is not repeated once the gang is nominated: other gangs may then have resources that
    count for minResources, but that the members do not need.
    """
    if not gang.min_resources or gang.was_whole:
        return None
    nominated = sum(1 for pod in gang.pending if pod.nominated)
    if 0 < gang.lacking <= nominated:
        return None
    nodes = snapshot.nodes
    room = trial.free.clip(min=0).sum(axis=0)
    for priority, held in snapshot.held.items():
        if priority < gang.priority:
            room = room + held
    short = np.flatnonzero(nodes.vector(gang.min_resources) > room)
    unknown = [name for name, amount in gang.min_resources if amount and name not in nodes.axis]
    lacking = (*unknown, *(nodes.resources[column] for column in short))
    if lacking:
        return Problem(Reason.UNSCHEDULABLE, ResourcesMissing(lacking))
    may_preempt = any(priority < gang.priority for priority in snapshot.held)
    if gang.own_domains is None or may_preempt:
        return None
    found = _domains_with_room(gang.own_domains, snapshot.nodes, trial)
    if found >= gang.own_domains.many:
        return None
    return Problem(Reason.UNSCHEDULABLE, DomainsTooSmall(gang.own_domains, found))


def _domains_with_room(asked: OwnDomains, nodes: NodeTable, trial: Trial) -> int:
    """Return how many domains have room for all pods of one Job, counted node by node."""
    request, column = nodes.vector(asked.requests), nodes.label(asked.label)
    if not column.values:
        return 0
    wanted = request > 0
    slots = (trial.free.clip(min=0)[:, wanted] // request[wanted]).min(axis=1, initial=asked.pods)
    usable = nodes.ready & ~nodes.unschedulable & (column.codes >= 0)
    room = np.bincount(column.codes[usable], weights=slots[usable], minlength=len(column.values))
    return int(np.count_nonzero(room >= asked.pods))
