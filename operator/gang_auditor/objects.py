"""Pods, nodes, quantities and selectors as the auditor reads them from raw objects."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from functools import cached_property, lru_cache
from typing import Any, Final, NamedTuple

from gang_auditor.watch_events import Object, seconds
from gang_scheduler.api import annotations as keys

# The auditor parses quantities itself, because the judged code must not do the counting. Grammar
# and rounding are those of apimachinery's `resource.Quantity`. A test compares the results with
# `model.resources`, which this module does not import.

Amounts = Mapping[str, int]
"""Amounts by resource: `cpu` in thousandths, others in bytes or as a count."""

SUFFIXES: Final[Mapping[str, Decimal]] = {
    **{f"{letter}i": Decimal(2) ** (10 * power) for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Decimal(10) ** (3 * power) for power, letter in enumerate("kMGTPE", start=1)},
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
}
MOST: Final = Decimal(2**63 - 1)
"""The largest quantity: an API server reduces larger ones to it."""


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Return a quantity in thousandths (CPU), bytes or units, rounded up; 0 if it is not valid."""
    number, factor = text, Decimal(1)
    for length in (2, 1):
        suffix = text[-length:]
        if suffix in SUFFIXES:
            number, factor = text[:-length], factor * SUFFIXES[suffix]
            break
    try:
        # Cut off before any computation: an exponent may have any length.
        whole = min(max(-MOST, min(Decimal(number), MOST)) * factor, MOST)
        units = min(whole * (1000 if resource == "cpu" else 1), MOST)
        return int(units.to_integral_value(ROUND_CEILING))
    except (InvalidOperation, ValueError, OverflowError):
        return 0


def amounts(listed: object) -> dict[str, int]:
    """Return the amounts of a ResourceList."""
    if not isinstance(listed, Mapping):
        return {}
    return {str(name): amount(str(name), str(text)) for name, text in listed.items()}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of amounts."""
    found: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            found[name] = found.get(name, 0) + count
    return found


def largest(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return for each resource the largest amount of any part."""
    found: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            found[name] = max(found.get(name, 0), count)
    return found


def shown(resource: str, count: int) -> str:
    """Return an amount as people write it, with CPU in cores."""
    return f"{count / 1000:g}" if resource == "cpu" else str(count)


ENDED: Final = frozenset({"Succeeded", "Failed"})
ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - a value in manifests, nothing is listened on.


class HostPort(NamedTuple):
    """A port of the node that a container takes."""

    protocol: str
    address: str
    number: int

    def meets(self, other: "HostPort") -> bool:
        """Return whether two ports cannot be used on one node at the same time."""
        same = (self.protocol, self.number) == (other.protocol, other.number)
        return same and (ANY_ADDRESS in (self.address, other.address) or other == self)


@dataclass(frozen=True, eq=False)
class Pod:
    """A version of a pod. `born_on_node`: it was created with its node, so nothing bound it."""

    raw: Object
    born_on_node: bool = False

    @cached_property
    def metadata(self) -> Object:
        """The metadata of the pod."""
        return mapping(self.raw, "metadata")

    @cached_property
    def spec(self) -> Object:
        """The spec of the pod."""
        return mapping(self.raw, "spec")

    @cached_property
    def status(self) -> Object:
        """The status of the pod."""
        return mapping(self.raw, "status")

    @property
    def namespace(self) -> str:
        """The namespace of the pod."""
        return str(self.metadata.get("namespace") or "")

    @property
    def name(self) -> str:
        """The name of the pod."""
        return str(self.metadata.get("name") or "")

    @property
    def uid(self) -> str:
        """The uid of the pod."""
        return str(self.metadata.get("uid") or "")

    @property
    def about(self) -> str:
        """The pod as findings name it."""
        return f"Pod {self.namespace}/{self.name}"

    @property
    def key(self) -> str:
        """The pod as `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The labels of the pod."""
        return mapping(self.metadata, "labels")

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        """The annotations of the pod."""
        return mapping(self.metadata, "annotations")

    @cached_property
    def node(self) -> str:
        """The node that the pod is bound to, or ""."""
        return str(self.spec.get("nodeName") or "")

    @cached_property
    def nominated(self) -> str:
        """The node that the pod is nominated to, or ""."""
        return str(self.status.get("nominatedNodeName") or "")

    @cached_property
    def has_ended(self) -> bool:
        """Whether the pod has succeeded or failed."""
        return self.status.get("phase") in ENDED

    @cached_property
    def is_deleted(self) -> bool:
        """Whether the deletion of the pod has begun."""
        return bool(self.metadata.get("deletionTimestamp"))

    @cached_property
    def is_gated(self) -> bool:
        """Whether the pod has scheduling gates."""
        return bool(self.spec.get("schedulingGates"))

    @property
    def scheduler(self) -> str:
        """The name of the pod's scheduler."""
        return str(self.spec.get("schedulerName") or "default-scheduler")

    @property
    def priority(self) -> int:
        """The priority of the pod, as admission has filled it in."""
        return int(self.spec.get("priority") or 0)

    @property
    def holds_its_node(self) -> bool:
        """Whether the pod takes room on a node."""
        return bool(self.node) and not self.has_ended

    @cached_property
    def plan(self) -> str:
        """The id of the plan that bound the pod; "" if another scheduler bound it, or none."""
        is_bound = self.node and not self.born_on_node
        return str(self.annotations.get(keys.PLAN_ID) or "") if is_bound else ""

    @cached_property
    def requests(self) -> Amounts:
        """The resources that the pod uses on a node, including `pods: 1`."""
        return {**_requests(self), "pods": 1}

    @cached_property
    def taken_of_node(self) -> dict[str, int]:
        """What it takes of the allocatable of its node: no resource that it gets as devices."""
        special = mapping(self.status, "extendedResourceClaimStatus")
        as_devices = {each.get("resourceName") for each in rows(special, "requestMappings")}
        return {name: count for name, count in self.requests.items() if name not in as_devices}

    @cached_property
    def host_ports(self) -> Sequence[HostPort]:
        """The ports of the node that the pod uses."""
        return tuple(_host_ports(self))

    @cached_property
    def controller(self) -> Object:
        """The reference to the object that controls it; {} without one."""
        owners = [each for each in rows(self.metadata, "ownerReferences") if each.get("controller")]
        return owners[0] if owners else {}

    def condition(self, kind: str) -> Object:
        """Return the condition of a type; {} without one."""
        found = [each for each in rows(self.status, "conditions") if each.get("type") == kind]
        return found[0] if found else {}

    @property
    def scheduled_at(self) -> float | None:
        """When the API server bound it, in seconds since the epoch; None if that is unknown."""
        scheduled = self.condition("PodScheduled")
        if scheduled.get("status") != "True":
            return None
        try:
            return seconds(str(scheduled.get("lastTransitionTime")))
        except (ValueError, OverflowError):
            return None


def mapping(parent: Object, name: str) -> Mapping[str, Any]:
    """Return a field that is an object; {} if it is absent or something else."""
    found = parent.get(name)
    return found if isinstance(found, Mapping) else {}


def rows(parent: Object, name: str) -> Sequence[Object]:
    """Return the objects of a field that is a list; () if it is absent or something else."""
    found = parent.get(name)
    return [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else ()


def _host_ports(pod: Pod) -> Iterator[HostPort]:
    sidecars = [e for e in rows(pod.spec, "initContainers") if e.get("restartPolicy") == "Always"]
    for container in (*rows(pod.spec, "containers"), *sidecars):
        for port in rows(container, "ports"):
            if port.get("hostPort"):
                protocol = str(port.get("protocol") or "TCP")
                yield HostPort(protocol, str(port.get("hostIP") or ANY_ADDRESS), port["hostPort"])


def _requests(pod: Pod) -> dict[str, int]:
    """Return the requests of a pod, counted as `resource.PodRequests` of component-helpers does."""
    wanted = _of_containers(pod, lambda each: _requested(mapping(each, "resources")))
    own = amounts(mapping(pod.spec, "resources").get("requests"))
    limits = amounts(mapping(pod.spec, "resources").get("limits"))
    if pod.node:
        wanted = _during_a_resize(pod, wanted)
        own = _own_during_a_resize(pod, own)
    whole = {**limits, **wanted, **own}
    return total((whole, amounts(pod.spec.get("overhead"))))


def _requested(resources: Object) -> dict[str, int]:
    limits = amounts(resources.get("limits"))
    return {**limits, **amounts(resources.get("requests"))}


def _of_containers(pod: Pod, count: Any) -> dict[str, int]:  # noqa: ANN401 - a function of objects.
    """Return the larger of two amounts: all containers together, or an init container's turn."""
    running = total(count(each) for each in rows(pod.spec, "containers"))
    sidecars: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in rows(pod.spec, "initContainers"):
        asked = count(container)
        if container.get("restartPolicy") == "Always":
            sidecars = total((sidecars, asked))
            asked = {}
        peak = largest((peak, total((sidecars, asked))))
    return largest((total((running, sidecars)), peak))


def _is_infeasible(pod: Pod) -> bool:
    return pod.condition("PodResizePending").get("reason") == "Infeasible"


def _during_a_resize(pod: Pod, wanted: dict[str, int]) -> dict[str, int]:
    """Return the largest of the amounts that containers request, have been given, and use."""
    infeasible = _is_infeasible(pod)
    said = {
        each.get("name"): each
        for name in ("initContainerStatuses", "containerStatuses")
        for each in rows(pod.status, name)
    }

    def given(container: Object) -> dict[str, int]:
        status = said.get(container.get("name"), {})
        if status.get("allocatedResources"):
            return amounts(status["allocatedResources"])
        return {} if infeasible else _requested(mapping(container, "resources"))

    def used(container: Object) -> dict[str, int]:
        status = said.get(container.get("name"), {})
        requests = mapping(mapping(status, "resources"), "requests")
        return amounts(requests) if requests else given(container)

    parts = (_of_containers(pod, given), _of_containers(pod, used))
    return largest(parts if infeasible else (wanted, *parts))


def _own_during_a_resize(pod: Pod, own: dict[str, int]) -> dict[str, int]:
    said = mapping(pod.status, "resources")
    if not own or not said:
        return own
    given = amounts(pod.status.get("allocatedResources"))
    used = amounts(said.get("requests"))
    found = largest(({} if _is_infeasible(pod) else own, given, used))
    return {
        name: count
        for name, count in found.items()
        if name in ("cpu", "memory") or name.startswith("hugepages-")
    }


class Kind(NamedTuple):
    """A kind of objects: its API group, and its name in manifests."""

    group: str
    name: str

    @classmethod
    def of(cls, found: Object) -> "Kind":
        """Return the kind of an object."""
        return cls(group_of(found), str(found.get("kind") or ""))


def group_of(found: Object) -> str:
    """Return the API group of an object; "" for the core group."""
    group, _, version = str(found.get("apiVersion") or "").partition("/")
    return group if version else ""


def name_of(found: Object) -> str:
    """Return `namespace/name` of an object, or its name where it has no namespace."""
    metadata = mapping(found, "metadata")
    namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
    return f"{namespace}/{name}" if namespace else str(name)


PODS: Final = Kind("", "Pod")
NODES: Final = Kind("", "Node")


@dataclass(frozen=True, eq=False)
class Node:
    """A version of a node."""

    raw: Object

    @property
    def name(self) -> str:
        """The name of the node."""
        return str(mapping(self.raw, "metadata").get("name") or "")

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The labels of the node."""
        return mapping(mapping(self.raw, "metadata"), "labels")

    @cached_property
    def allocatable(self) -> Amounts:
        """The resources of the node that pods may use."""
        status = mapping(self.raw, "status")
        return amounts(status.get("allocatable") or status.get("capacity"))

    @cached_property
    def taints(self) -> Sequence[Object]:
        """The taints of the node."""
        return rows(mapping(self.raw, "spec"), "taints")

    @cached_property
    def is_cordoned(self) -> bool:
        """Whether the node is cordoned, and so takes no new pods."""
        return bool(mapping(self.raw, "spec").get("unschedulable"))

    @cached_property
    def is_ready(self) -> bool:
        """Whether the kubelet reports that it is ready. A node without a report counts as ready."""
        conditions = rows(mapping(self.raw, "status"), "conditions")
        ready = [each.get("status") for each in conditions if each.get("type") == "Ready"]
        return ready[:1] in ([], ["True"])

    def judged_as(self, other: "Node | None") -> bool:
        """Return whether the rules would judge this version of the node like the other one."""
        return other is not None and all(
            getattr(self, name) == getattr(other, name)
            for name in ("labels", "allocatable", "taints", "is_cordoned", "is_ready")
        )


# Selectors of labels, nodes and taints, as Kubernetes defines them.

Labels = Mapping[str, str]
HARD: Final = frozenset({"NoSchedule", "NoExecute"})
NOT_READY: Final = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
CORDONED: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
INTEGER: Final = re.compile(r"-?[0-9]{1,19}")


def selects(selector: Object | None, labels: Labels) -> bool:
    """Return whether a LabelSelector selects labels; an empty one selects all, None nothing."""
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
    """Return whether a node matches the nodeSelector and required node affinity of a pod."""
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
