"""A snapshot with one thing changed about one group, or about the pods on nodes."""

from collections.abc import Callable
from dataclasses import replace

from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.gangs import Gang, GangGroup, Role
from gang_scheduler.model.network.topology_request import LayerRef, TopologyRequest
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.snapshot import Snapshot

Labels = tuple[tuple[str, str], ...]


def with_members(snapshot: Snapshot, group: GangGroup, key: GangKey, number: int) -> Snapshot:
    """Return the snapshot in which one gang of the group starts with so many members."""

    def fewer(gang: Gang) -> Gang:
        if gang.key != key:
            return gang
        roles = _fewer_of_roles(gang.roles, gang.min_member - number)
        return replace(gang, min_member=number, roles=roles)

    return _with_gangs(snapshot, group, fewer)


def _fewer_of_roles(roles: tuple[Role, ...], fewer: int) -> tuple[Role, ...]:
    """Return roles that need so many members fewer: of the role that needs most."""
    if not roles:
        return roles
    most = max(roles, key=lambda role: role.min_member)
    return tuple(
        each._replace(min_member=each.min_member - fewer) if each is most else each
        for each in roles
    )


def layers_of(group: GangGroup) -> tuple[LayerRef, ...]:
    """Return the layers that members of the group must gather in."""
    found = [*(group.topology_request.must if group.topology_request else ())]
    for pod in (pod for gang in group.waiting for pod in gang.pending):
        if pod.podset is not None:
            found += pod.podset.topology_request.must
    return tuple(dict.fromkeys(found))


def with_preferred(snapshot: Snapshot, group: GangGroup, layer: LayerRef) -> Snapshot:
    """Return the snapshot in which members would rather gather in a layer, and need not."""

    def member(pod: Pod) -> Pod:
        if pod.podset is None:
            return pod
        request = _softer(pod.podset.topology_request, layer)
        return replace(pod, podset=replace(pod.podset, topology_request=request))

    request = group.topology_request
    softer = _softer(request, layer) if request is not None else None
    changed = replace(group, topology_request=softer)
    shot = _with_group(snapshot, group, changed)
    return _with_gangs(shot, changed, lambda gang: _with_members(gang, member))


def _softer(request: TopologyRequest, layer: LayerRef) -> TopologyRequest:
    if layer not in request.must:
        return request
    must = tuple(each for each in request.must if each != layer)
    return replace(request, must=must, prefer=(layer, *request.prefer))


def with_priority(
    snapshot: Snapshot, group: GangGroup, priority: int, running: BoundPods
) -> Snapshot:
    """Return the snapshot in which the group has a priority, and pods that it may evict by it."""

    def higher(gang: Gang) -> Gang:
        ranked = _with_members(gang, lambda pod: replace(pod, priority=priority))
        own = None if gang.class_priority is None else priority
        return replace(ranked, priority=priority, class_priority=own)

    shot = replace(snapshot, bound_pods=snapshot.bound_pods or running)
    return _with_gangs(shot, group, higher)


def with_bound_pods(snapshot: Snapshot, bound_pods: BoundPods) -> Snapshot:
    """Return the snapshot with other knowledge of the pods on nodes."""
    return replace(snapshot, bound_pods=bound_pods)


def with_labels(snapshot: Snapshot, group: GangGroup, labels: Labels) -> Snapshot:
    """Return the snapshot in which members select other values of these labels."""
    chosen = dict(labels)

    def member(pod: Pod) -> Pod:
        selector = tuple((key, chosen.get(key, value)) for key, value in _selector(pod))
        return replace(pod, pod_class=replace(pod.pod_class, node_selector=selector))

    return _with_gangs(snapshot, group, lambda gang: _with_members(gang, member))


def _selector(pod: Pod) -> Labels:
    return pod.pod_class.node_selector


def with_ended(snapshot: Snapshot, gang: GangKey, running: BoundPods) -> Snapshot:
    """Return the snapshot in which the pods of a gang leave in any case."""
    known = snapshot.bound_pods or running
    going = tuple(each for each in known.pods if each.gang == gang)
    going = going or tuple(each for each in running.pods if each.gang == gang)
    staying = tuple(each for each in known.pods if each.gang != gang)
    gangs = {key: each for key, each in known.gangs.items() if key != gang}
    left = replace(known, pods=staying, leaving=(*known.leaving, *going), gangs=gangs)
    return replace(snapshot, bound_pods=left)


def _with_members(gang: Gang, change: Callable[[Pod], Pod]) -> Gang:
    return replace(gang, pending=tuple(change(pod) for pod in gang.pending))


def _with_gangs(snapshot: Snapshot, group: GangGroup, change: Callable[[Gang], Gang]) -> Snapshot:
    return _with_group(snapshot, group, replace(group, gangs=tuple(map(change, group.gangs))))


def _with_group(snapshot: Snapshot, group: GangGroup, changed: GangGroup) -> Snapshot:
    groups = tuple(changed if each is group else each for each in snapshot.groups)
    return replace(snapshot, groups=groups)
