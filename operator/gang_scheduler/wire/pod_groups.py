"""What is read of the PodGroups of scheduling.k8s.io."""

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Int32, Wire


class GangPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy.gang` of a native PodGroup."""

    min_count: Int32 = 1


class SchedulingPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy` of a native PodGroup: gang; without one, basic."""

    gang: GangPolicy | None = None


class TopologyConstraint(Wire, frozen=True):
    """`spec.schedulingConstraints.topology[]` of a native PodGroup."""

    key: str = ""


class SchedulingConstraints(Wire, frozen=True):
    """`spec.schedulingConstraints` of a native PodGroup."""

    topology: list[TopologyConstraint] = field(default_factory=list)


class DisruptionMode(Wire, frozen=True):
    """`spec.disruptionMode` of a native PodGroup: one of its fields is set."""

    all: dict[str, object] | None = None


class NativePodGroupSpec(Wire, frozen=True):
    """`spec` of a native PodGroup."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    resource_claims: list[dict[str, object]] = field(default_factory=list)
    parent_composite_pod_group_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    # A word in v1alpha2, a union of objects since.
    disruption_mode: DisruptionMode | str = ""


class NativePodGroup(Wire, frozen=True):
    """A PodGroup of scheduling.k8s.io."""

    metadata: Metadata
    spec: NativePodGroupSpec = NativePodGroupSpec()
