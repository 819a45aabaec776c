"""Divides the members of a group into units of placement, by their topology requests."""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gang_scheduler.model.causes.topology import MultipleDoesNotDivide, MultipleNeedsMore, Requested
from gang_scheduler.model.gangs import Gang, GangGroup
from gang_scheduler.model.network import topology_scope
from gang_scheduler.model.network.layers import TreeSpec
from gang_scheduler.model.network.topology_request import Slices
from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.scheduler.units.placement_units import (
    Party,
    PlacementUnit,
    RankedMembers,
    in_rank_order,
    place_of,
)


def units_of(group: GangGroup, snapshot: Snapshot) -> tuple[PlacementUnit, ...] | Problem:
    """Return the units of all members that wait, or the problem of a topology request."""
    required = frozenset(uid for gang in group.waiting for uid in _quorum_of(gang, group))
    found = []
    for unit in _split(group, required):
        sited = in_trees(unit, snapshot.tree_specs, snapshot.nodes)
        if isinstance(sited, Problem):
            return sited
        found.append(sited)
    return tuple(found)


def _quorum_of(gang: Gang, group: GangGroup) -> frozenset[str]:
    """Return the uids of the quorum: the first members in rank.

    One member is enough for gangs of one that other gangs of the group wait for.
    """
    if gang.roles and not gang.apart:
        return gang.quorum_among(gang.startable)
    number = min(1, gang.quorum) if gang.apart and len(group.waiting) > 1 else gang.quorum
    return _uids(gang.pending[:number])


def _split(group: GangGroup, required: frozenset[str]) -> Iterator[PlacementUnit]:
    if group.topology_request is not None:
        places = _places(group.gangs)
        members = _in_order((pod for gang in group.waiting for pod in gang.startable), places)
        bound_members = _in_order(
            [*group.started, *(pod for gang in group.gangs for pod in gang.bound_members)], places
        )
        yield PlacementUnit(
            group.waiting,
            (RankedMembers(members, bound_members, places=places),),
            required,
            topology_request=group.topology_request,
        )
        return
    if not any(pod.podset for gang in group.waiting for pod in one_of_each(gang.pending)):
        for gang in group.waiting:
            own = required if len(group.waiting) == 1 else required & _uids(gang.pending)
            part = RankedMembers(gang.startable, places=_places([gang]))
            yield PlacementUnit((gang,), (part,), own)
        return
    yield from _podsets(group, required)


def _podsets(group: GangGroup, required: frozenset[str]) -> Iterator[PlacementUnit]:
    """Yield a unit for each podset, each named podset group, and each gang's other members."""
    parts: dict[Hashable, dict[Hashable, list[Pod]]] = {}
    gangs: dict[Hashable, dict[GangKey, Gang]] = {}
    for gang in group.gangs:
        for pod in (*gang.startable, *gang.bound_members):
            unit, part = _podset_of(pod, gang.key)
            parts.setdefault(unit, {}).setdefault(part, []).append(pod)
            gangs.setdefault(unit, {})[gang.key] = gang
    for pod in group.started:
        unit, part = _podset_of(pod, None)
        if unit in parts:
            parts[unit].setdefault(part, []).append(pod)
    places = _places(group.gangs)
    for unit, found in parts.items():
        pods = [pod for part in found.values() for pod in part]
        waiting = [pod for pod in pods if not pod.node]
        if waiting:
            podset = waiting[0].podset
            yield PlacementUnit(
                gangs=tuple(gang for gang in gangs[unit].values() if gang.pending),
                parts=tuple(_part(part, places) for part in found.values()),
                required=required & _uids(waiting),
                topology_request=podset.topology_request.shared
                if podset and podset.topology_request.asks
                else None,
            )


def _podset_of(pod: Pod, gang: GangKey | None) -> tuple[Hashable, Hashable]:
    """Return the key of a pod's unit, and the key of its part of that unit."""
    podset = pod.podset
    part = (gang, podset.owner if podset else "", podset)
    return ("group", podset.group) if podset and podset.group else part, part


def _part(pods: Sequence[Pod], places: Mapping[Party, int]) -> RankedMembers:
    return RankedMembers(
        members=tuple(pod for pod in pods if not pod.node),
        bound_members=tuple(pod for pod in pods if pod.node),
        places=places,
    )


def in_trees(
    unit: PlacementUnit, tree_specs: Sequence[TreeSpec], nodes: NodeTable
) -> PlacementUnit | Problem:
    """Return the unit with the scope that it requests, and the sizes of its slices there."""
    if unit.topology_request is None:
        return unit
    slices = [_slices(unit, part) for part in unit.parts]
    everything = tuple(each for found in slices for each in found)
    asked = replace(unit.topology_request, slices=everything)
    scope = topology_scope.resolve(asked, tree_specs, nodes)
    if isinstance(scope, Problem):
        return _named(scope, unit)
    parts = []
    for part, found in zip(unit.parts, slices, strict=True):
        sizes = topology_scope.sizes_of(found, scope)
        if isinstance(sizes, Problem):
            return _named(sizes, unit)
        parts.append(replace(part, sizes=sizes))
    step = math.lcm(1, *(each.size for each in everything if each.whole))
    return _stepped(replace(unit, parts=tuple(parts), scope=scope, step=step))


def _slices(unit: PlacementUnit, part: RankedMembers) -> tuple[Slices, ...]:
    """Return how a part is sliced: as its own podset says, else as the unit is."""
    podset = next((pod.podset for pod in (*part.members, *part.bound_members) if pod.podset), None)
    own = podset.topology_request.slices if podset is not None else ()
    return own or (unit.topology_request.slices if unit.topology_request else ())


def _stepped(unit: PlacementUnit) -> PlacementUnit | Problem:
    """Return the unit with a quorum that is a multiple of what its slices need."""
    if unit.step == 1 or unit.bound_members:
        return unit
    members = unit.members
    if not unit.elastic and len(members) % unit.step:
        cause = MultipleDoesNotDivide(unit.step, len(members))
        return _named(Problem(Reason.INVALID_SPEC, cause), unit)
    quorum = -(-unit.quorum // unit.step) * unit.step
    if quorum > len(members):
        return Problem(Reason.WAITING_FOR_MEMBERS, MultipleNeedsMore(len(members), quorum))
    surplus = [pod for pod in members if pod.uid not in unit.required]
    more = _uids(surplus[: quorum - unit.quorum])
    return replace(unit, required=unit.required | more)


def _named(problem: Problem, unit: PlacementUnit) -> Problem:
    """Return the problem with the field of the topology request that it is about."""
    where = unit.topology_request.where if unit.topology_request else ""
    return replace(problem, cause=Requested(where, problem.cause)) if where else problem


def _in_order(pods: Iterable[Pod], places: Mapping[Party, int]) -> tuple[Pod, ...]:
    """Return members of several gangs by rank if all ranks differ, else by gang."""
    listed = tuple(pods)
    ranks = {(place_of(pod, places), pod.rank) for pod in listed if pod.rank}
    if len(ranks) < len(listed):
        return listed
    return tuple(in_rank_order(listed, places))


def _places(gangs: Iterable[Gang]) -> Mapping[Party, int]:
    """Return the places of the roles in the rank order of their gangs."""
    return {(gang.key, role.name): place for gang in gangs for place, role in enumerate(gang.roles)}


def _uids(pods: Iterable[Pod]) -> frozenset[str]:
    return frozenset(pod.uid for pod in pods)
