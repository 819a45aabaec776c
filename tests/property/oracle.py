"""May a pod go to a node? A second answer, in plain Python, that shares no code with scheduler/."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations_with_replacement, product

from gang_scheduler.model.nodes import Node, Taint, Toleration
from gang_scheduler.model.pods import HostPort, Pod, PodClass
from gang_scheduler.model.selectors import Requirement

ANY_ADDRESS = "0.0.0.0"  # noqa: S104 - Kubernetes' word for "all addresses".


def accepts(node: Node, others: Iterable[PodClass], pod_class: PodClass) -> bool:
    """Return whether the node takes a pod beside the pods that it has."""
    others = list(others)
    return (
        allowed(node, pod_class)
        and has_room(node, others, pod_class)
        and has_ports(others, pod_class)
    )


def allowed(node: Node, pod_class: PodClass) -> bool:
    """Return whether the node would take the pod if it were empty and large."""
    taints = [each for each in node.taints if each.effect != "PreferNoSchedule"]
    if node.unschedulable:
        taints.append(Taint("node.kubernetes.io/unschedulable", "", "NoSchedule"))
    if not node.ready:
        taints.append(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"))
    tolerated = all(
        any(_tolerates(each, taint) for each in pod_class.tolerations) for taint in taints
    )
    selected = all(node.labels.get(key) == value for key, value in pod_class.node_selector)
    return tolerated and selected and _any_term(node, pod_class)


def has_room(node: Node, others: Iterable[PodClass], pod_class: PodClass) -> bool:
    """Return whether what is asked for is free."""
    free = Counter(dict(node.allocatable))
    for other in others:
        free.subtract(dict(other.requests))
    return all(amount == 0 or free[name] >= amount for name, amount in pod_class.requests)


def has_ports(others: Iterable[PodClass], pod_class: PodClass) -> bool:
    """Return whether no other pod has one of the ports."""
    taken = [port for other in others for port in other.host_ports]
    return not any(_same_port(one, other) for one, other in product(pod_class.host_ports, taken))


def fits_somehow(
    nodes: Sequence[Node], bound: Sequence[Pod], pod_class: PodClass, count: int
) -> bool:
    """Try every way to give `count` equal pods to nodes."""
    return any(
        _all_accept(nodes, bound, pod_class, ways)
        for ways in combinations_with_replacement(nodes, count)
    )


def on(node: Node, pods: Iterable[Pod]) -> list[PodClass]:
    """Return what the pods on a node ask for."""
    return [each.pod_class for each in pods if each.node == node.name]


def _all_accept(
    nodes: Sequence[Node], bound: Sequence[Pod], pod_class: PodClass, ways: Iterable[Node]
) -> bool:
    pods = {each.name: on(each, bound) for each in nodes}
    for node in ways:
        if not accepts(node, pods[node.name], pod_class):
            return False
        pods[node.name].append(pod_class)
    return True


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    right_key = toleration.key in ("", taint.key)
    right_effect = toleration.effect in ("", taint.effect)
    right_value = toleration.operator == "Exists" or toleration.value == taint.value
    return right_key and right_effect and right_value


def _any_term(node: Node, pod_class: PodClass) -> bool:
    if pod_class.affinity is None:
        return True
    return any(term and all(_holds(each, node) for each in term) for term in pod_class.affinity)


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
