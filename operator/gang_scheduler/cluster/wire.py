"""What is read of pods and nodes, as the API server sends it. Everything else is skipped.

msgspec checks the types and names the path of what is wrong. The same structs decode the bytes
of a watch and the dicts that Kopf hands out.
"""

from enum import StrEnum

from msgspec import Struct, field

from gang_scheduler.model.pods import PodPhase
from gang_scheduler.model.requirements import Operator

Quantity = str | int | float
Quantities = dict[str, Quantity]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Wire(Struct, rename="camel", frozen=True, gc=False):
    """Base of all structs here: camelCase on the wire, and invisible to the garbage collector."""


class OwnerReference(Wire, frozen=True):
    """`metadata.ownerReferences[]`."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False

    @property
    def is_job(self) -> bool:
        """A Job of Kubernetes: other products have a kind of this name, too."""
        return self.kind == "Job" and self.api_version.startswith("batch/")


NO_OWNER = OwnerReference()


class Metadata(Wire, frozen=True):
    """`metadata`."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    owner_references: list[OwnerReference] = field(default_factory=list)


class ResourceRequirements(Wire, frozen=True):
    """`resources` of a container or a pod."""

    requests: Quantities = field(default_factory=dict)
    limits: Quantities = field(default_factory=dict)


class ContainerPort(Wire, frozen=True):
    """`spec.containers[].ports[]`."""

    host_port: int = 0
    container_port: int = 0
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


class Toleration(Wire, frozen=True):
    """`spec.tolerations[]`."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class NodeSelectorRequirement(Wire, frozen=True):
    """An expression of a node selector term."""

    key: str
    operator: Operator
    values: list[str] = field(default_factory=list)


class NodeSelectorTerm(Wire, frozen=True):
    """One of the alternatives of a node selector."""

    match_expressions: list[NodeSelectorRequirement] = field(default_factory=list)
    match_fields: list[NodeSelectorRequirement] = field(default_factory=list)


class NodeSelector(Wire, frozen=True):
    """Required node affinity."""

    node_selector_terms: list[NodeSelectorTerm] = field(default_factory=list)


class PreferredSchedulingTerm(Wire, frozen=True):
    """A node selector term, and how much it is wished for."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    """`spec.affinity.nodeAffinity`."""

    required: NodeSelector | None = field(default=None, name=REQUIRED)
    preferred: list[PreferredSchedulingTerm] = field(default_factory=list, name=PREFERRED)


class LabelSelector(Wire, frozen=True):
    """A selector of objects by their labels. An empty one selects all."""

    match_labels: dict[str, str] = field(default_factory=dict)
    match_expressions: list[NodeSelectorRequirement] = field(default_factory=list)


class PodAffinityTerm(Wire, frozen=True):
    """Being near to, or far from, certain pods."""

    label_selector: LabelSelector | None = None
    namespaces: list[str] = field(default_factory=list)
    namespace_selector: LabelSelector | None = None
    topology_key: str = ""
    match_label_keys: list[str] = field(default_factory=list)
    mismatch_label_keys: list[str] = field(default_factory=list)


class WeightedPodAffinityTerm(Wire, frozen=True):
    """The same, and how much it is wished for."""

    weight: int = 0
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
    max_skew: int = 0
    min_domains: int = 1
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] = field(default_factory=list)
    node_affinity_policy: NodeInclusionPolicy = NodeInclusionPolicy.HONOR
    node_taints_policy: NodeInclusionPolicy = NodeInclusionPolicy.IGNORE
    when_unsatisfiable: WhenUnsatisfiable = WhenUnsatisfiable.DO_NOT_SCHEDULE


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
    """`spec.volumes[]`: only what may matter to where the pod goes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdDisk | None = None


class SchedulingGroup(Wire, frozen=True):
    """`spec.schedulingGroup`."""

    pod_group_name: str = ""


class PodSpec(Wire, frozen=True):
    """`spec` of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
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
    host_network: bool = False
    host_users: bool | None = None


class Condition(Wire, frozen=True):
    """A condition of a pod or a node."""

    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class ContainerStatus(Wire, frozen=True):
    """`status.containerStatuses[]`: what the kubelet has allocated during an in-place resize."""

    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Quantities = field(default_factory=dict)


class PodStatus(Wire, frozen=True):
    """`status` of a pod."""

    phase: PodPhase = PodPhase.PENDING
    nominated_node_name: str = ""
    start_time: str = ""
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


class Taint(Wire, frozen=True):
    """`spec.taints[]`."""

    key: str
    value: str = ""
    effect: str = "NoSchedule"


class NodeSpec(Wire, frozen=True):
    """`spec` of a node."""

    unschedulable: bool = False
    taints: list[Taint] = field(default_factory=list)


class NodeStatus(Wire, frozen=True):
    """`status` of a node."""

    allocatable: Quantities = field(default_factory=dict)
    capacity: Quantities = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    declared_features: list[str] = field(default_factory=list)


class Node(Wire, frozen=True):
    """A node."""

    metadata: Metadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ListMetadata(Wire, frozen=True):
    """`metadata` of a list: where the next page begins."""

    continue_: str = field(default="", name="continue")


class MetadataOnly(Wire, frozen=True):
    """An object of which only the metadata was asked for."""

    metadata: Metadata


class MetadataList(Wire, frozen=True):
    """A page of them. An empty one comes as null."""

    items: list[MetadataOnly] | None = None
    metadata: ListMetadata = ListMetadata()


class GangPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy.gang` of a native PodGroup."""

    min_count: int = 1


class SchedulingPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy` of a native PodGroup: gang, or basic where there is none."""

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
    priority: int | None = None
    priority_class_name: str = ""
    # A word in v1alpha2, a union of objects since.
    disruption_mode: DisruptionMode | str = ""


class NativePodGroup(Wire, frozen=True):
    """A PodGroup of scheduling.k8s.io."""

    metadata: Metadata
    spec: NativePodGroupSpec = NativePodGroupSpec()


class PodDisruptionBudgetSpec(Wire, frozen=True):
    """`spec` of a PodDisruptionBudget. Without a selector it covers no pod."""

    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class PodDisruptionBudgetStatus(Wire, frozen=True):
    """`status` of a PodDisruptionBudget, and of which generation it tells."""

    observed_generation: int = 0
    disruptions_allowed: int = 0


class PodDisruptionBudget(Wire, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Metadata
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus | None = None


class PodTemplate(Wire, frozen=True):
    """A pod template: what a pod of it would be."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()


class JobSpec(Wire, frozen=True):
    """`spec` of a Job. Without completions, any one success ends it."""

    template: PodTemplate = PodTemplate()
    parallelism: int = 1
    completions: int | None = None


class JobStatus(Wire, frozen=True):
    """`status` of a Job."""

    succeeded: int = 0


class Job(Wire, frozen=True):
    """A Job."""

    metadata: Metadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Wire, frozen=True):
    """The template of a replicatedJob."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()


class ReplicatedJob(Wire, frozen=True):
    """`spec.replicatedJobs[]`."""

    name: str = ""
    replicas: int = 1
    template: JobTemplate = JobTemplate()
    depends_on: list[dict[str, object]] = field(default_factory=list)


class StartupPolicy(Wire, frozen=True):
    """`spec.startupPolicy` of a JobSet."""

    startup_policy_order: str = ""


class JobSetSpec(Wire, frozen=True):
    """`spec` of a JobSet."""

    replicated_jobs: list[ReplicatedJob] = field(default_factory=list)
    startup_policy: StartupPolicy = StartupPolicy()


class JobSet(Wire, frozen=True):
    """A JobSet."""

    metadata: Metadata
    spec: JobSetSpec = JobSetSpec()
