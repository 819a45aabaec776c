"""Laws on what waits: there is no place for it, and no less urgent pod has taken one."""

import json
from collections.abc import Iterator

from search import seating
from search.cases import Case
from search.groups import Group
from search.manifests import KUEUE
from search.room import Room


def refused(case: Case) -> Iterator[Group]:
    """Yield the groups that were tried and did not fit, so far as the laws can judge them."""
    cycle = case.once.cycles[0]
    for group in case.groups:
        every = [pod.key for pod in group.pods]
        reasons = {cycle.refused.get(key) for key in every}
        if cycle.cut_off & {*every}:
            continue
        if reasons == {"Unschedulable"} and group.is_simple and not _is_held(group):
            yield group


def no_place_is_left(case: Case) -> Iterator[str]:
    """Check that a quorum that waits fits nowhere beside all that is there and promised."""
    cycle = case.once.cycles[0]
    if _has_nominated(case):
        return
    room = case.room([*cycle.binds.items(), *cycle.nominations.items()])
    for group in refused(case):
        if group.gains or case.loses_members(group):
            continue
        if seating.any_quorum_fits(group, case.trees, room):
            yield f"{_names(group)} fit, and wait"


def no_surplus_is_left(case: Case) -> Iterator[str]:
    """Check that a member of a gang that starts or runs waits only where no node takes it."""
    cycle = case.once.cycles[0]
    if _has_nominated(case):
        return
    room = case.room([*cycle.binds.items(), *cycle.nominations.items()])
    for group in case.groups:
        for gang in group.gangs:
            bound = [pod for pod in gang.waiting if pod.key in cycle.binds]
            rest = [pod for pod in gang.waiting if cycle.refused.get(pod.key) == "Unschedulable"]
            if not bound or not rest or any(pod.has_pod_affinity for pod in gang.members):
                continue
            for pod in rest:
                if _fits_alone(case, group, pod.key, room):
                    yield f"{pod.key} fits beside its gang, and waits"
                    break


def quorums_come_first(case: Case) -> Iterator[str]:
    """Check that no quorum waits while surplus, or a gang of a lower priority, has its place."""
    cycle = case.once.cycles[0]
    if _has_nominated(case):
        return
    # Gangs of one unit may have moved when their surplus joined them; multiples need more.
    asked = [(group, json.dumps(g.spec)) for group in case.groups for g in group.gangs if g.spec]
    if any(len(group.waiting) > 1 or "podCountMultiple" in spec for group, spec in asked):
        return
    for group in refused(case):
        if group.gains or not any(gang.lacks for gang in group.gangs):
            continue
        if case.loses_members(group):
            continue
        kept = {}
        for key, node in {**cycle.binds, **cycle.nominations}.items():
            other = case.group_of(case.pods[key].gang)
            if other is not None and other.priority >= group.priority:
                gang = case.gangs[case.pods[key].gang]
                role = gang.role_of(case.pods[key])
                needed = gang.before_surplus[role]
                placed = [p.key for p in gang.of_role(role, gang.waiting) if p.key in cycle.binds]
                # A gang that loses members lacks more than it did.
                is_surplus = key in placed[needed:] and not case.loses_members(other)
                if not is_surplus or other.priority > group.priority:
                    kept[key] = node
        room = case.room(kept.items())
        if seating.any_quorum_fits(group, case.trees, room):
            yield f"{_names(group)} wait for what surplus or lower priorities have"


def no_leaving_room_is_missed(case: Case) -> Iterator[str]:
    """Check that a quorum that fits once those that leave have left is nominated there."""
    cycle = case.once.cycles[0]
    if _has_nominated(case) or not case.is_clear:
        return
    for group in refused(case):
        if group.peaceful or group.gains or all(gang.started for gang in group.waiting):
            continue
        if case.loses_members(group):
            continue
        quorum = seating.first_quorum(group)
        higher = [key for key, by in cycle.victims.items() if _outranks(case, by, group)]
        decided = [*cycle.binds.items(), *cycle.nominations.items()]
        room = case.room(decided, higher, later=True)
        if quorum and seating.fits(group.crowds(case.trees, quorum), room):
            yield f"{_names(group)} fit once others have left, and are not nominated"


def _outranks(case: Case, preemptor: str, group: Group) -> bool:
    """Return whether a preemptor is decided before a group."""
    other = case.group_of(preemptor)
    return other is not None and other.order < group.order


def _fits_alone(case: Case, group: Group, key: str, room: Room) -> bool:
    cycle = case.once.cycles[0]
    pod = case.pods[key]
    crowds = group.crowds(case.trees, [pod])
    if len(crowds) != 1 or not crowds[0].exact or any(KUEUE in k for k, _ in pod.podset):
        return False
    place = crowds[0].place
    if place is None:
        return any(room.has_room(pod, node) for node in room.nodes)
    bound_members = [mate.node for mate in crowds[0].bound_members]
    bound_members += [cycle.binds[p.key] for p in group.pods if p.key in cycle.binds]
    found = [
        nodes for nodes in seating.domains(place, room).values() if set(bound_members) & {*nodes}
    ]
    if len(found) != 1:
        return False
    return any(room.has_room(pod, node) for node in found[0])


def _is_held(group: Group) -> bool:
    """Return whether something else than room may keep a group."""
    bodies = [gang.body or {} for gang in group.gangs]
    return any("minResources" in body.get("spec", {}) for body in bodies)


def _has_nominated(case: Case) -> bool:
    return any(pod.nominated for pod in case.pods.values())


def _names(group: Group) -> str:
    return ", ".join(gang.name for gang in group.waiting)


LAWS = (no_place_is_left, no_surplus_is_left, quorums_come_first, no_leaving_room_is_missed)
