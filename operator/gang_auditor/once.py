"""Violations in a cluster as it is now, whatever caused them: for `audit --once`.

Without a history, no binding can be blamed: a node may have shrunk, or labels may have changed. So
these findings describe the state, and name the rules of bindings that would have prevented it. Only
pods that the scheduler has bound are reported, but all pods count as present.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from gang_auditor import gangs, objects, queues
from gang_auditor.auditor import Limits
from gang_auditor.charges import NO_QUEUE
from gang_auditor.findings import Finding
from gang_auditor.gangs import GangName
from gang_auditor.networks import Domain, Request, domains_of, request_of
from gang_auditor.objects import Node, Pod
from gang_auditor.rules import devices
from gang_auditor.rules.volumes import claims_of, is_for_one
from gang_auditor.world import World


def findings(world: World, limits: Limits, now: float) -> Iterator[Finding]:
    """Yield the violations in the world at a time."""
    for node in world.nodes:
        pods = world.on_node(node.name)
        if any(limits.judges(each) for each in pods):
            yield from _over_committed(node, pods, now)
            yield from _ports(node, pods, now)
    bound = [e for e in world.pods.values() if e.holds_its_node and limits.judges(e)]
    yield from _claims(bound, world, now)
    yield from devices.standing(world, limits, now)
    yield from _domains(bound, world, now)
    yield from _quotas(world, now)


def _over_committed(node: Node, pods: Sequence[Pod], now: float) -> Iterator[Finding]:
    used = objects.total(each.taken_of_node for each in pods)
    for resource, count in sorted(used.items()):
        offered = node.allocatable.get(resource, 0)
        if count > offered:
            there, most = objects.shown(resource, count), objects.shown(resource, offered)
            details = {"resource": resource, "used": count, "allocatable": offered}
            message = f"has {there} of {most} {resource}"
            yield Finding(now, "capacity", f"Node {node.name}", message, details)


def _ports(node: Node, pods: Sequence[Pod], now: float) -> Iterator[Finding]:
    taken = [(port, each) for each in pods for port in each.host_ports]
    for place, (port, pod) in enumerate(taken):
        for other, beside in taken[:place]:
            if port.meets(other) and pod is not beside:
                message = f"{pod.key} and {beside.key} have host port {port.protocol}/{port.number}"
                yield Finding(now, "ports", f"Node {node.name}", message)


def _claims(bound: Sequence[Pod], world: World, now: float) -> Iterator[Finding]:
    users: dict[str, list[Pod]] = defaultdict(list)
    for pod in bound:
        for claim in claims_of(pod):
            users[claim].append(pod)
    for claim, pods in sorted(users.items()):
        if len(pods) > 1 and is_for_one(world, claim):
            names = ", ".join(sorted(each.key for each in pods))
            about = f"PersistentVolumeClaim {claim}"
            yield Finding(now, "volumes", about, f"is for one pod, and {names} have it")


def _domains(bound: Sequence[Pod], world: World, now: float) -> Iterator[Finding]:
    found: dict[tuple[GangName, Request, str], set[Domain]] = defaultdict(set)
    for pod in bound:
        gang = gangs.gang_of(pod)
        request = request_of(pod, gang, world)
        if gang is None or request is None or pod.is_deleted:
            continue
        # A podset gathers on its own; its pods have the request.
        part = str(pod.controller.get("uid") or "") if request.label else ""
        found[gang, request, part] |= domains_of(request, pod.node, world, now, now) or set()
    for (gang, request, _), domains in found.items():
        if len(domains) > 1:
            names = " and ".join(sorted("/".join(each) for each in domains))
            message = f"is in {names}, of {request.where}"
            yield Finding(now, "gathering", gang.about, message, {"layer": request.where})


def _quotas(world: World, now: float) -> Iterator[Finding]:
    specs = queues.specs_of(world)
    for key in sorted(queues.governed(specs)):
        tree = queues.tree_of(world, specs, world.charges.used, key)
        for name, account in sorted(tree.accounts.items()):
            if name != NO_QUEUE and account.total > account.limit:
                used = objects.shown(key[1], account.total)
                most = objects.shown(key[1], int(account.limit))
                message = f"has {used} of {most} {key[1]}"
                yield Finding(now, "limit", f"Queue {name}", message, {"flavor": key[0]})
