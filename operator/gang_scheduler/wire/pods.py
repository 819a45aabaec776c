"""Fields that are read of pods, pod templates and the PodGroups of Kubernetes."""

from enum import StrEnum

from msgspec import field

from gang_scheduler.api import annotations
from gang_scheduler.model.pods import PodPhase
from gang_scheduler.wire.base import (
    Condition,
    Identity,
    Int32,
    LabelSelector,
    Metadata,
    NodeSelector,
    NodeSelectorTerm,
    Quantities,
    ResourceRequirements,
    Wire,
)

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class PreferredSchedulingTerm(Wire, frozen=True):
    """A node selector term, and its weight."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    """`spec.affinity.nodeAffinity`."""

    required: NodeSelector | None = field(default=None, name=REQUIRED)
    preferred: list[PreferredSchedulingTerm] = field(default_factory=list, name=PREFERRED)


class PodAffinityTerm(Wire, frozen=True):
    """A rule that a pod is near to, or far from, the selected pods: in the same domain, or not."""

    label_selector: LabelSelector | None = None
    namespaces: list[str] = field(default_factory=list)
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: list[str] = field(default_factory=list)
    mismatch_label_keys: list[str] = field(default_factory=list)


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A pod affinity term, and its weight."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True):
    """`spec.affinity.podAffinity` and `podAntiAffinity`."""

    required: list[PodAffinityTerm] = field(default_factory=list, name=REQUIRED)
    preferred: list[WeightedPodAffinityTerm] = field(default_factory=list, name=PREFERRED)


class Affinity(Wire, frozen=True):
    """`spec.affinity`."""

    node_affinity: NodeAffinity = NodeAffinity()
    pod_affinity: PodAffinity = PodAffinity()
    pod_anti_affinity: PodAffinity = PodAffinity()


class ContainerPort(Wire, frozen=True):
    """`spec.containers[].ports[]`."""

    host_port: Int32 = 0
    container_port: Int32 = 0
    protocol: str = "TCP"
    host_ip: str = field(default="", name="hostIP")


class ContainerRestartRule(Wire, frozen=True):
    """`spec.containers[].restartPolicyRules[]`."""

    action: str = ""


class VolumeMount(Wire, frozen=True):
    """`spec.containers[].volumeMounts[]`."""

    bind_mount_options: list[str] = field(default_factory=list)


class Container(Wire, frozen=True):
    """`spec.containers[]` and `spec.initContainers[]`."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] = field(default_factory=list)
    restart_policy: str = ""
    restart_policy_rules: list[ContainerRestartRule] = field(default_factory=list)
    volume_mounts: list[VolumeMount] = field(default_factory=list)


class Terminated(Wire, frozen=True):
    """`status.containerStatuses[].state.terminated`."""

    message: str = ""
    finished_at: str = ""


class ContainerState(Wire, frozen=True):
    """`status.containerStatuses[].state` and `lastState`."""

    terminated: Terminated | None = None


NO_STATE = ContainerState()


class ContainerStatus(Wire, frozen=True):
    """`status.containerStatuses[]`: how the container ended, and its resources after a resize."""

    name: str = ""
    state: ContainerState = NO_STATE
    last_state: ContainerState = NO_STATE
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = field(default_factory=dict)


class ClaimSource(Wire, frozen=True):
    """`spec.volumes[].persistentVolumeClaim`."""

    claim_name: str = ""


class GceDisk(Wire, frozen=True):
    """`spec.volumes[].gcePersistentDisk`."""

    pd_name: str = ""
    read_only: bool = False


class AwsDisk(Wire, frozen=True):
    """`spec.volumes[].awsElasticBlockStore`."""

    volume_id: str = field(default="", name="volumeID")


class IscsiDisk(Wire, frozen=True):
    """`spec.volumes[].iscsi`."""

    iqn: str = ""
    read_only: bool = False


class RbdDisk(Wire, frozen=True):
    """`spec.volumes[].rbd`."""

    monitors: list[str] = field(default_factory=list)
    pool: str = "rbd"
    image: str = ""
    read_only: bool = False


class Volume(Wire, frozen=True):
    """`spec.volumes[]`: only the fields that may limit the pod's nodes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdDisk | None = None


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


class Toleration(Wire, frozen=True):
    """`spec.tolerations[]`."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class SchedulingGroup(Wire, frozen=True):
    """`spec.schedulingGroup`."""

    pod_group_name: str = ""


class PodResourceClaim(Wire, frozen=True):
    """`spec.resourceClaims[]`: a ResourceClaim, or a template from which one is created."""

    name: str = ""
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class ResourceClaimStatus(Wire, frozen=True):
    """`status.resourceClaimStatuses[]`: the claim that was created; without a name: none."""

    name: str = ""
    resource_claim_name: str = ""


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
    resource_claims: list[PodResourceClaim] = field(default_factory=list)
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
    resource_claim_statuses: list[ResourceClaimStatus] = field(default_factory=list)


class Pod(Wire, frozen=True):
    """A pod."""

    metadata: Metadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PlaceSpec(Wire, frozen=True):
    """The node in `spec` of a pod."""

    node_name: str = ""


class PodPlace(Wire, frozen=True):
    """The node of a pod: faults in its other fields do not matter."""

    metadata: Identity
    spec: PlaceSpec = PlaceSpec()


class PodTemplate(Wire, frozen=True):
    """A pod template."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()

    def asks_for_gang(self) -> bool:
        """Return whether the template itself declares its pods a gang."""
        return annotations.ask_for_gang(self.metadata.labels, self.metadata.annotations)


# The PodGroups of scheduling.k8s.io.


class GangPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy.gang` of a native PodGroup."""

    min_count: Int32 = 1


class PodGroupsSchedulingPolicy(Wire, frozen=True):
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

    scheduling_policy: PodGroupsSchedulingPolicy = PodGroupsSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    resource_claims: list[PodResourceClaim] = field(default_factory=list)
    parent_composite_pod_group_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    # In v1alpha2 it was a word; since then, it is a union of objects.
    disruption_mode: DisruptionMode | str = ""


class NativePodGroup(Wire, frozen=True):
    """A PodGroup of scheduling.k8s.io."""

    metadata: Metadata
    spec: NativePodGroupSpec = NativePodGroupSpec()
