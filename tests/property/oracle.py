"""May a pod go to a node? A second answer, in plain Python, that shares no code with scheduler/."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement, product

from gang_scheduler.model.nodes import Node, Taint
from gang_scheduler.model.pods import Ask, HostPort, Pod, Toleration
from gang_scheduler.model.requirements import Requirement

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - Kubernetes' word for "all addresses".


def accepts(node: Node, others: Iterable[Ask], ask: Ask) -> bool:
    """Tell whether the node takes a pod beside the pods that it has."""
    others = list(others)
    return allowed(node, ask) and has_room(node, others, ask) and has_ports(others, ask)


def allowed(node: Node, ask: Ask) -> bool:
    """Tell whether the node would take the pod if it were empty and large."""
    taints = [each for each in node.taints if each.effect != "PreferNoSchedule"]
    if node.unschedulable:
        taints.append(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"))
    if not node.ready:
        taints.append(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"))
    tolerated = all(any(_tolerates(each, taint) for each in ask.tolerations) for taint in taints)
    selected = all(node.labels.get(key) == value for key, value in ask.node_selector)
    return tolerated and selected and _any_term(node, ask)


def has_room(node: Node, others: Iterable[Ask], ask: Ask) -> bool:
    """Tell whether what is asked for is free."""
    free = Counter(dict(node.allocatable))
    for other in others:
        free.subtract(dict(other.requests))
    return all(amount == 0 or free[name] >= amount for name, amount in ask.requests)


def has_ports(others: Iterable[Ask], ask: Ask) -> bool:
    """Tell whether no other pod has one of the ports."""
    taken = [port for other in others for port in other.host_ports]
    return not any(_same_port(one, other) for one, other in product(ask.host_ports, taken))


def fits_somehow(nodes: Sequence[Node], bound: Sequence[Pod], ask: Ask, count: int) -> bool:
    """Try every way to give `count` equal pods to nodes."""
    return any(
        _all_accept(nodes, bound, ask, ways) for ways in combinations_with_replacement(nodes, count)
    )


def on(node: Node, pods: Iterable[Pod]) -> list[Ask]:
    """Return what the pods on a node ask for."""
    return [each.ask for each in pods if each.node == node.name]


def _all_accept(
    nodes: Sequence[Node], bound: Sequence[Pod], ask: Ask, ways: Iterable[Node]
) -> bool:
    pods = {each.name: on(each, bound) for each in nodes}
    for node in ways:
        if not accepts(node, pods[node.name], ask):
            return False
        pods[node.name].append(ask)
    return True


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    right_key = toleration.key in ("", taint.key)
    right_effect = toleration.effect in ("", taint.effect)
    right_value = toleration.operator == "Exists" or toleration.value == taint.value
    return right_key and right_effect and right_value


def _any_term(node: Node, ask: Ask) -> bool:
    if ask.affinity is None:
        return True
    return any(term and all(_holds(each, node) for each in term) for term in ask.affinity)


def _holds(wanted: Requirement, node: Node) -> bool:
    value = node.name if wanted.on_field else node.labels.get(wanted.key)
    match wanted.operator:
        case "In":
            return value in wanted.values
        case "NotIn":
            return value not in wanted.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    if value is None or not value.isdecimal() or len(wanted.values) != 1:
        return False
    difference = int(value) - int(wanted.values[0])
    return difference > 0 if wanted.operator == "Gt" else difference < 0


def _same_port(one: HostPort, other: HostPort) -> bool:
    overlap = one.ip == other.ip or ANY_ADDRESS in {one.ip, other.ip}
    return overlap and (one.port, one.protocol) == (other.port, other.protocol)
