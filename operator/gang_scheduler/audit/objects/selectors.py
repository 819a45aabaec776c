"""Selectors of labels, of nodes and of taints, as Kubernetes defines them."""

import re
from collections.abc import Mapping
from typing import Final

from gang_scheduler.audit.objects.nodes import Node
from gang_scheduler.audit.objects.pods import Pod, mapping, rows
from gang_scheduler.audit.stream.events import Object

Labels = Mapping[str, str]
HARD: Final = frozenset({"NoSchedule", "NoExecute"})
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
CORDONED: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
INTEGER: Final = re.compile(r"-?[0-9]{1,19}")


def selects(selector: Object | None, labels: Labels) -> bool:
    """Return whether a LabelSelector selects labels: an empty one all, an absent one none."""
    if selector is None:
        return False
    wanted = mapping(selector, "matchLabels")
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(each, labels) for each in rows(selector, "matchExpressions"))


def _meets(expression: Object, labels: Labels) -> bool:
    key, values = str(expression.get("key")), expression.get("values") or []
    there = labels.get(key)
    match expression.get("operator"):
        case "In":
            return there in values
        case "NotIn":
            return there not in values
        case "Exists":
            return there is not None
        case "DoesNotExist":
            return there is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, there, values)
    return False


def _compares(operator: str, there: str | None, values: list[str]) -> bool:
    numbers = [there or "", *values]
    if len(numbers) != 2 or not all(INTEGER.fullmatch(each) for each in numbers):
        return False
    found, bound = map(int, numbers)
    return found > bound if operator == "Gt" else found < bound


def node_term_matches(term: Object, node: Node) -> bool:
    """Return whether a NodeSelectorTerm matches a node; an empty one matches none."""
    expressions, fields = rows(term, "matchExpressions"), rows(term, "matchFields")
    if not expressions and not fields:
        return False
    names = {"metadata.name": node.name}
    return all(_meets(each, node.labels) for each in expressions) and all(
        _meets(each, names) for each in fields
    )


def node_selector_matches(selector: Object, node: Node) -> bool:
    """Return whether one of the terms of a NodeSelector matches a node."""
    return any(node_term_matches(each, node) for each in rows(selector, "nodeSelectorTerms"))


def wants(pod: Pod, node: Node) -> bool:
    """Return whether a node has what the nodeSelector and the required affinity of a pod ask."""
    selector = mapping(pod.spec, "nodeSelector")
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    affinity = mapping(mapping(pod.spec, "affinity"), "nodeAffinity")
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return not isinstance(required, Mapping) or node_selector_matches(required, node)


def tolerates(pod: Pod, taint: Object) -> bool:
    """Return whether a pod has a toleration for a taint."""
    return any(_tolerates(each, taint) for each in rows(pod.spec, "tolerations"))


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    if toleration.get("key") not in (None, "", taint.get("key")):
        return False
    value, there = str(toleration.get("value") or ""), str(taint.get("value") or "")
    match toleration.get("operator") or "Equal":
        case "Exists":
            return True
        case "Equal":
            return value == there
        case "Lt" | "Gt" as operator:
            return _compares(operator, there, [value])
    return False


def untolerated(pod: Pod, node: Node) -> Object | None:
    """Return a hard taint of a node that a pod does not tolerate."""
    hard = (each for each in node.taints if each.get("effect") in HARD)
    return next((each for each in hard if not tolerates(pod, each)), None)
