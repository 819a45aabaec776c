"""Nodes, namespaces, PriorityClasses and PodDisruptionBudgets, from the wire."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import IS, InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.fields import amounts, read, timestamp
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.nodes import Node, Taint
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.selectors import LABEL_OPERATORS, Requirement, hold
from gang_scheduler.wire import cluster as node_wire
from gang_scheduler.wire.base import (
    Condition,
    Int32,
    LabelSelector,
    Metadata,
    MetadataOnly,
    NodeSelectorRequirement,
    Wire,
)
from gang_scheduler.wire.cluster import PodDisruptionBudget, PodDisruptionBudgetSpec

# Requirements on labels in a canonical form, so that equal selectors compare equal.

WITH_VALUES = frozenset({Operator.IN, Operator.NOT_IN})


def label_requirements(selector: LabelSelector, where: str) -> tuple[Requirement, ...]:
    """Return the requirements of a selector, sorted; `where` is its field.

    Raises InvalidField that names the field and the value.
    """
    wanted = (Requirement(k, Operator.IN, (value,)) for k, value in selector.match_labels.items())
    return all_of((*wanted, *_expressions(selector, where)))


def all_of(several: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Return requirements sorted, each once."""
    return tuple(sorted(set(several), key=lambda each: (each.key, each.operator, each.values)))


def _expressions(selector: LabelSelector, where: str) -> Iterator[Requirement]:
    for i, each in enumerate(selector.match_expressions):
        _check(each, f"{where}.matchExpressions[{i}]")
        yield Requirement(each.key, each.operator, tuple(sorted(set(each.values))))


def _check(expression: NodeSelectorRequirement, where: str) -> None:
    operator, values = expression.operator, expression.values
    if operator not in LABEL_OPERATORS:
        problem = f"must be one of {', '.join(LABEL_OPERATORS)}"
        raise InvalidField(f"{where}.operator", operator.value, problem)
    if (operator in WITH_VALUES) != bool(values):
        problem = "must not be empty" if operator in WITH_VALUES else "must be empty"
        raise InvalidField(f"{where}.values", values, f"{problem} with operator {operator}", IS)


# PodDisruptionBudgets: the pods that each covers, and how many of them may be evicted.

_PERCENTAGE = re.compile(r"(?P<number>[0-9]{1,9})%")


@dataclass(frozen=True, slots=True)
class DeclaredBudget:
    """A PodDisruptionBudget. `selector` is None if it covers no pod, () if it covers all.

    `allowed` is how many pods may be evicted by its status; None if no controller has counted. Then
    `least_healthy` returns how many of the expected pods must stay healthy.
    """

    uid: str
    namespace: str
    name: str
    selector: tuple[Requirement, ...] | None = None
    allowed: int | None = 0
    least_healthy: Callable[[int], int] = field(default=lambda expected: expected, compare=False)

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def covers(self, pod: Pod) -> bool:
        """Return whether the budget is for this pod."""
        if self.selector is None or pod.namespace != self.namespace:
            return False
        return hold(self.selector, pod.labels)


def read_budget(body: Mapping[str, Any]) -> DeclaredBudget:
    """Return a PodDisruptionBudget. Raises InvalidField.

    A status that is missing, or of an earlier spec, allows no eviction.
    """
    return _declared(body, uncounted=0)


def read_uncounted(body: Mapping[str, Any]) -> DeclaredBudget:
    """Return a PodDisruptionBudget; without a status `allowed` is None. Raises InvalidField."""
    return _declared(body, uncounted=None)


def _declared(body: Mapping[str, Any], uncounted: int | None) -> DeclaredBudget:
    source = fields.read(body, PodDisruptionBudget)
    status, allowed = source.status, uncounted
    if status is not None:
        is_current = status.observed_generation >= source.metadata.generation
        allowed = max(status.disruptions_allowed, 0) if is_current else 0
    return DeclaredBudget(
        uid=source.metadata.uid,
        namespace=source.metadata.namespace,
        name=source.metadata.name,
        selector=_selector(source.spec.selector),
        allowed=allowed,
        least_healthy=_least_healthy(source.spec),
    )


def _selector(source: LabelSelector | None) -> tuple[Requirement, ...] | None:
    if source is None:
        return None
    return label_requirements(source, "spec.selector")


def _least_healthy(spec: PodDisruptionBudgetSpec) -> Callable[[int], int]:
    """Return a function from the number of expected pods to the number that must stay healthy."""
    most, least = spec.max_unavailable, spec.min_available
    if most is not None:
        share = _share("spec.maxUnavailable", most)
        return lambda expected: max(expected - share(expected), 0)
    # A budget without minAvailable and maxUnavailable allows no eviction.
    return _share("spec.minAvailable", "100%" if least is None else least)


def _share(where: str, amount: int | str) -> Callable[[int], int]:
    """Return a function of the number of expected pods: constant, or a percentage rounded up."""
    if isinstance(amount, int):
        return lambda _: amount
    found = _PERCENTAGE.fullmatch(amount)
    if found is None:
        raise InvalidField(where, amount, "must be a whole number or a percentage")
    percent = int(found["number"])
    return lambda expected: -(-percent * expected // 100)


# Namespaces: their labels, and the queue of their gangs.

NAME_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace has: its name."""


@dataclass(frozen=True, slots=True)
class DeclaredNamespace:
    """A Namespace. `default_queue` is for gangs that name no queue; "" without a default."""

    uid: str
    name: str
    labels: Mapping[str, str]
    default_queue: str = ""


def read_namespace(body: Mapping[str, Any]) -> DeclaredNamespace:
    """Return the namespace. Raises InvalidField that names the field and the value."""
    metadata = fields.read(body, MetadataOnly).metadata
    labels = {NAME_LABEL: metadata.name, **metadata.labels}
    default_queue = metadata.annotations.get(annotations.DEFAULT_QUEUE, "")
    return DeclaredNamespace(metadata.uid, metadata.name, labels, default_queue)


def read_node(body: Mapping[str, Any]) -> Node:
    """Return the node. Raises InvalidField that names the field and the value."""
    return node_from_wire(read(body, node_wire.Node))


def node_from_wire(source: node_wire.Node) -> Node:
    """Return the node of a decoded struct. Raises InvalidField for nonsense quantities."""
    offered = amounts(source.status.allocatable or source.status.capacity, "status.allocatable")
    # A node that has not reported its condition yet has no allocatable resources either.
    ready = next((each for each in source.status.conditions if each.type == "Ready"), None)
    is_ready = ready is None or ready.status == "True"
    return Node(
        name=source.metadata.name,
        uid=source.metadata.uid,
        labels=source.metadata.labels,
        taints=tuple(Taint(each.key, each.value, each.effect) for each in source.spec.taints),
        unschedulable=source.spec.unschedulable,
        ready=is_ready,
        allocatable=tuple(sorted(offered.items())),
        features=frozenset(source.status.declared_features),
        not_ready_since=0 if is_ready or ready is None else _changed_at(ready),
    )


def _changed_at(condition: Condition) -> int:
    """Return when a condition got its status, in seconds since the epoch; 0 if unknown."""
    return int(timestamp(condition.last_transition_time or "", "status.conditions[Ready]"))


# PriorityClasses, applied to pods and PodGroups as the API server does on admission.


class PreemptionPolicy(StrEnum):
    """Whether pods of the class may evict other pods."""

    PREEMPT = "PreemptLowerPriority"
    NEVER = "Never"


class PriorityClass(Wire, frozen=True):
    """A PriorityClass."""

    value: Int32
    metadata: Metadata = Metadata()
    global_default: bool = False
    preemption_policy: PreemptionPolicy = PreemptionPolicy.PREEMPT


@dataclass(frozen=True, slots=True)
class Priorities:
    """All PriorityClasses by name, and the default for pods without one."""

    by_name: Mapping[str, PriorityClass] = field(default_factory=dict)
    default: PriorityClass | None = None

    def spec(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a pod's spec with its priority. Raises InvalidField for an unknown class."""
        return self._with_policy(self.with_priority(spec))

    def with_priority(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a spec with the priority of its class, or of the default. Raises InvalidField."""
        name = spec.get("priorityClassName")
        if "priority" in spec:
            return spec
        if name and name not in self.by_name:
            raise InvalidField("spec.priorityClassName", name, "must name a PriorityClass")
        found = self.by_name[name] if name else self.default
        if found is None:
            return spec
        return {**spec, "priority": found.value, "priorityClassName": found.metadata.name}

    def _with_policy(self, spec: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a spec with its class's preemptionPolicy, unless it has one of its own."""
        found = self.by_name.get(spec.get("priorityClassName") or "")
        if found is None:
            return spec
        return {"preemptionPolicy": found.preemption_policy.value, **spec}


SYSTEM = tuple(
    PriorityClass(value=value, metadata=Metadata(name=name))
    for name, value in (
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    )
)
"""The classes that exist in every cluster."""


def read_priority_class(body: Mapping[str, Any]) -> PriorityClass:
    """Return the PriorityClass. Raises InvalidField, which names the field and the value."""
    return fields.read(body, PriorityClass)


def priorities_of(classes: Iterable[PriorityClass]) -> Priorities:
    """Return the classes of a cluster. If several are global defaults, the lowest one counts."""
    every = (*SYSTEM, *classes)
    defaults = (each for each in every if each.global_default)
    lowest = min(defaults, key=lambda each: (each.value, each.metadata.name), default=None)
    return Priorities({each.metadata.name: each for each in every}, lowest)
