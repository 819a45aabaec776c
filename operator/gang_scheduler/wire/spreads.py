"""What is read of `spec.topologySpreadConstraints[]`."""

from enum import StrEnum

from msgspec import field

from gang_scheduler.wire.selectors import LabelSelector
from gang_scheduler.wire.structs import Int32, Wire


class WhenUnsatisfiable(StrEnum):
    """`spec.topologySpreadConstraints[].whenUnsatisfiable`."""

    DO_NOT_SCHEDULE = "DoNotSchedule"
    SCHEDULE_ANYWAY = "ScheduleAnyway"


class NodeInclusionPolicy(StrEnum):
    """`nodeAffinityPolicy` and `nodeTaintsPolicy` of a spread constraint."""

    HONOR = "Honor"
    IGNORE = "Ignore"


class SpreadConstraint(Wire, frozen=True):
    """`spec.topologySpreadConstraints[]`."""

    topology_key: str = ""
    max_skew: Int32 = 0
    min_domains: Int32 = 1
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] = field(default_factory=list)
    node_affinity_policy: NodeInclusionPolicy = NodeInclusionPolicy.HONOR
    node_taints_policy: NodeInclusionPolicy = NodeInclusionPolicy.IGNORE
    when_unsatisfiable: WhenUnsatisfiable = WhenUnsatisfiable.DO_NOT_SCHEDULE
