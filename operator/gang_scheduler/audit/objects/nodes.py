"""A node as the auditor reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gang_scheduler.audit.objects import quantities
from gang_scheduler.audit.objects.pods import mapping, rows
from gang_scheduler.audit.objects.quantities import Amounts
from gang_scheduler.audit.stream.events import Object


@dataclass(frozen=True, eq=False)
class Node:
    """A version of a node."""

    raw: Object

    @property
    def name(self) -> str:
        """Its name."""
        return str(mapping(self.raw, "metadata").get("name") or "")

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return mapping(mapping(self.raw, "metadata"), "labels")

    @cached_property
    def allocatable(self) -> Amounts:
        """What pods may use of it."""
        status = mapping(self.raw, "status")
        return quantities.amounts(status.get("allocatable") or status.get("capacity"))

    @cached_property
    def taints(self) -> Sequence[Object]:
        """Its taints."""
        return rows(mapping(self.raw, "spec"), "taints")

    @cached_property
    def is_cordoned(self) -> bool:
        """Whether it takes no new pods."""
        return bool(mapping(self.raw, "spec").get("unschedulable"))

    @cached_property
    def is_ready(self) -> bool:
        """Whether its kubelet says that it is ready; one that has said nothing yet counts so."""
        conditions = rows(mapping(self.raw, "status"), "conditions")
        ready = [each.get("status") for each in conditions if each.get("type") == "Ready"]
        return ready[:1] in ([], ["True"])

    def judged_as(self, other: "Node | None") -> bool:
        """Return whether rules find the same of both versions."""
        return other is not None and all(
            getattr(self, name) == getattr(other, name)
            for name in ("labels", "allocatable", "taints", "is_cordoned", "is_ready")
        )
