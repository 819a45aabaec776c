"""PriorityClasses, as the admission of an API server applies them to pods and PodGroups."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Int32, Wire


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
    """All classes by name, and the default for pods that name none."""

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


def read(body: Mapping[str, Any]) -> PriorityClass:
    """Return the class. Raises InvalidField that names the field and the value."""
    return fields.read(body, PriorityClass)


def priorities_of(classes: Iterable[PriorityClass]) -> Priorities:
    """Return the classes of a cluster. Of several global defaults the lowest one counts."""
    every = (*SYSTEM, *classes)
    defaults = (each for each in every if each.global_default)
    lowest = min(defaults, key=lambda each: (each.value, each.metadata.name), default=None)
    return Priorities({each.metadata.name: each for each in every}, lowest)
