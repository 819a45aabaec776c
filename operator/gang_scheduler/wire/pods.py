"""What is read of pods and of pod templates."""

from msgspec import field

from gang_scheduler.model.pods import PodPhase
from gang_scheduler.wire.affinity import Affinity
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.containers import Container, ContainerStatus
from gang_scheduler.wire.metadata import Identity, Metadata
from gang_scheduler.wire.pod_volumes import Volume
from gang_scheduler.wire.quantities import Quantities, ResourceRequirements
from gang_scheduler.wire.spreads import SpreadConstraint
from gang_scheduler.wire.structs import Int32, Wire


class Toleration(Wire, frozen=True):
    """`spec.tolerations[]`."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class SchedulingGroup(Wire, frozen=True):
    """`spec.schedulingGroup`."""

    pod_group_name: str = ""


class PodSpec(Wire, frozen=True):
    """`spec` of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    affinity: Affinity = Affinity()
    tolerations: list[Toleration] = field(default_factory=list)
    containers: list[Container] = field(default_factory=list)
    init_containers: list[Container] = field(default_factory=list)
    resources: ResourceRequirements = ResourceRequirements()
    overhead: Quantities = field(default_factory=dict)
    scheduling_gates: list[dict[str, object]] = field(default_factory=list)
    topology_spread_constraints: list[SpreadConstraint] = field(default_factory=list)
    volumes: list[Volume] = field(default_factory=list)
    resource_claims: list[dict[str, object]] = field(default_factory=list)
    scheduling_group: SchedulingGroup = SchedulingGroup()
    active_deadline_seconds: int | None = None
    host_network: bool = False
    termination_grace_period_seconds: int | None = None
    host_users: bool | None = None


class PodStatus(Wire, frozen=True):
    """`status` of a pod."""

    phase: PodPhase = PodPhase.PENDING
    reason: str = ""
    nominated_node_name: str = ""
    start_time: str = ""
    pod_ip: str = field(default="", name="podIP")
    conditions: list[Condition] = field(default_factory=list)
    container_statuses: list[ContainerStatus] = field(default_factory=list)
    init_container_statuses: list[ContainerStatus] = field(default_factory=list)
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = field(default_factory=dict)


class Pod(Wire, frozen=True):
    """A pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PlaceSpec(Wire, frozen=True):
    """The node in `spec` of a pod."""

    node_name: str = ""


class PodPlace(Wire, frozen=True):
    """A pod of which only the node is read: no other field can be wrong."""

    metadata: Identity
    spec: PlaceSpec = PlaceSpec()


class PodTemplate(Wire, frozen=True):
    """A pod template."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
