"""The only reader of the environment and of flags: one frozen Settings."""

import enum
import json
import os
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from gang_scheduler.model.network.layers import NODE_LAYER
from gang_scheduler.model.resources import parse_quantity


class Strategy(enum.StrEnum):
    """How nodes are scored where a gang has no topology."""

    BINPACK = "binpack"
    SPREAD = "spread"


class QuotaOf(enum.StrEnum):
    """Whether the quotas of another product's queues are enforced.

    They are charged and shown in any case. AUTO: unless a controller of that product runs.
    """

    AUTO = "auto"
    ENFORCE = "enforce"
    IGNORE = "ignore"


class QueueNamespaces(enum.StrEnum):
    """Which namespaces may use a Queue that does not say it."""

    ALL = "all"
    NONE = "none"


class FairStrategy(enum.StrEnum):
    """When a gang of a queue of a smaller share may evict one of a larger share."""

    FINAL = "LessThanOrEqualToFinalShare"
    INITIAL = "LessThanInitialShare"


class KueueFairness(enum.StrEnum):
    """In which order Kueue's queues take turns: without and with its fair sharing."""

    PRIORITY = "Priority"
    DRS = "DRS"


class OnPartialGang(enum.StrEnum):
    """What becomes of the bound members of a gang whose rest finds no room in time."""

    HOLD = "Hold"
    RELEASE = "Release"


class DegradedGangs(enum.StrEnum):
    """What becomes of a gang that lost members and finds no room for others in its domain."""

    WAIT = "Wait"
    EVICT = "Evict"


class PodSource(enum.StrEnum):
    """How pods, nodes and all other kinds are watched."""

    KOPF = "kopf"
    REFLECTOR = "reflector"


class HttpClientName(enum.StrEnum):
    """What sends the requests beside the watches."""

    BUILTIN = "builtin"
    AIOHTTP = "aiohttp"


class GangKind(enum.StrEnum):
    """Kinds of workloads of which the pods of each are a gang without asking for it."""

    PYTORCH_JOB = "PyTorchJob"
    TF_JOB = "TFJob"
    XGBOOST_JOB = "XGBoostJob"
    PADDLE_JOB = "PaddleJob"
    JAX_JOB = "JAXJob"
    MPI_JOB = "MPIJob"
    TRAIN_JOB = "TrainJob"
    RAY_CLUSTER = "RayCluster"
    LEADER_WORKER_SET = "LeaderWorkerSet"
    KUEUE_POD_GROUP = "KueuePodGroup"
    VOLCANO_POD_GROUP = "VolcanoPodGroup"


class ManagedKind(enum.StrEnum):
    """Kinds of workloads that can wait suspended, and are started when there is room for them."""

    JOB = "Job"
    JOB_SET = "JobSet"
    PYTORCH_JOB = "PyTorchJob"
    TF_JOB = "TFJob"
    XGBOOST_JOB = "XGBoostJob"
    PADDLE_JOB = "PaddleJob"
    JAX_JOB = "JAXJob"
    MPI_JOB = "MPIJob"
    RAY_CLUSTER = "RayCluster"


class LogFormat(enum.StrEnum):
    """How log lines look."""

    JSON = "json"
    CONSOLE = "console"


class LogLevel(enum.StrEnum):
    """From which level on log lines are written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class CountOtherSchedulers(enum.StrEnum):
    """Which pods of other schedulers are charged to a queue."""

    LABELLED = "labelled"
    NONE = "none"


class TransformationStrategy(enum.StrEnum):
    """Whether a resource that counts as others is itself charged, too."""

    RETAIN = "Retain"
    REPLACE = "Replace"


MOST_CHECKPOINTS = 64
"""How many checkpoints the CRD of PodGroups takes."""

Name = Annotated[str, Field(min_length=1)]


def _shape(text: str) -> str:
    """Return what a member asks for. Raises ValueError for what is no list of requests."""
    for each in text.split(","):
        name, _, amount = each.partition("=")
        if not name:
            raise ValueError(f"{each!r} is not RESOURCE=QUANTITY")
        _positive(amount)
    return text


def _positive(quantity: str | int) -> str | int:
    """Return a quantity above 0. Raises ValueError for any other value."""
    if parse_quantity(quantity, 1000) <= 0:
        raise ValueError(f"{quantity!r} is not above 0")
    return quantity


def _above_nodes(layer: str) -> str:
    """Return the name of a layer. Raises ValueError for that of the nodes: none would be left."""
    if layer == NODE_LAYER:
        raise ValueError(f"{layer} has one node in each domain, and none would be left")
    return layer


Shape = Annotated[str, AfterValidator(_shape)]


Factor = Annotated[str | int, AfterValidator(_positive)]


class ResourceTransformation(BaseModel):
    """What quotas count for a resource: so much of each output for one of the input.

    The input is taken as often as the pod requests of multiplyBy, if it does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Name
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = Field(default="", alias="multiplyBy")
    outputs: dict[Name, Factor]


class SpareNodes(BaseModel):
    """How many free nodes of each domain of a layer are kept for members that replace lost ones.

    Of the nodes with the labels of nodeSelector.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    layer: Annotated[Name, AfterValidator(_above_nodes)]
    count: int = Field(default=1, ge=1)
    node_selector: dict[Name, str] = Field(default={}, alias="nodeSelector")


def _from_json(given: object) -> object:
    """Return what a flag has as JSON. Raises ValueError for a text that is none."""
    return json.loads(given) if isinstance(given, str) else given


def _each_input_once(
    given: tuple[ResourceTransformation, ...],
) -> tuple[ResourceTransformation, ...]:
    """Return transformations. Raises ValueError for a second one of an input."""
    seen: set[str] = set()
    for number, each in enumerate(given):
        if each.input in seen:
            raise ValueError(f"[{number}].input {each.input!r} is there twice")
        seen.add(each.input)
    return given


class Policy(BaseModel):
    """The settings that decisions depend on: those of `run` that are flags of `simulate`, too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scheduler_names: tuple[Name, ...] = Field(
        default=("py-gang-scheduler",),
        min_length=1,
        description="Values of spec.schedulerName that are ours (a JSON list in the environment).",
    )
    strategy: Strategy = Field(
        default=Strategy.BINPACK, description="Fullest nodes first, or emptiest first."
    )
    gang_kinds: tuple[GangKind, ...] = Field(
        default=tuple(GangKind),
        description=(
            "Kinds of workloads of which the pods of each are a gang without a label (a JSON list "
            "in the environment); those of others are if their label py-gang-scheduler.io/gang is "
            "true."
        ),
    )
    schedule_timeout_seconds: int = Field(
        default=600,
        gt=0,
        description="After how long a complete gang that was not bound is reported as late.",
    )
    preemption: bool = Field(
        default=True,
        description="Evict pods of lower priority for gangs that do not fit otherwise.",
    )
    preempt_other_schedulers: bool = Field(
        default=False, description="Evict pods of other schedulers, too."
    )
    min_priority_difference: int = Field(
        default=1,
        ge=1,
        description="By how much the priority of a gang must be above that of the pods it evicts.",
    )
    max_victims: int = Field(
        default=0, ge=0, description="How many pods a gang may evict at once; 0: any number."
    )
    min_runtime_before_preemption_seconds: int = Field(
        default=0, ge=0, description="How long a pod must have run before it may be evicted."
    )
    max_min_runtime_seconds: int = Field(
        default=3600,
        ge=0,
        description=(
            "How much of the minimum run time counts that a gang asks for with annotation "
            "py-gang-scheduler.io/min-runtime; 0: none of it."
        ),
    )
    protection_label_namespaces: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Namespaces in which labels protect pods from preemption (a JSON list in the "
            "environment); empty: in all, so that anyone can make a pod immune."
        ),
    )
    preempt_unprotected_jobs: bool = Field(
        default=True,
        description=(
            "Evict pods also of Jobs that fail for good if all of their pods are evicted once: "
            "of more pods than backoffLimit, and without a podFailurePolicy that ignores "
            "DisruptionTarget."
        ),
    )
    use_eviction_api: bool = Field(
        default=False,
        description=(
            "Evict through the Eviction API, which refuses what a PodDisruptionBudget forbids, "
            "instead of deleting."
        ),
    )
    hide_foreign_names: bool = Field(
        default=False,
        description="Name a gang by its uid to those in other namespaces whose pods it evicts.",
    )
    victim_timeout_seconds: int = Field(
        default=300,
        ge=1,
        description=(
            "How long after its grace period a victim is waited for; then it is reported, and "
            "room is looked for elsewhere."
        ),
    )

    node_failure_seconds: int = Field(
        default=30,
        ge=0,
        description="How long a node must not be ready to count as failed.",
    )
    node_failure_taints: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Keys of taints that say that a node has failed, beside out-of-service and unreachable "
            "of Kubernetes (a JSON list in the environment)."
        ),
    )
    spare_nodes: tuple[Annotated[SpareNodes, BeforeValidator(_from_json)], ...] = Field(
        default=(),
        description=(
            "Nodes that are kept free for members that replace lost ones (a JSON list in the "
            "environment): layer, count, the free nodes of each domain of that layer, and "
            "nodeSelector, the labels that they have."
        ),
    )

    queue_namespaces: QueueNamespaces = Field(
        default=QueueNamespaces.ALL,
        description="Which namespaces may use a Queue without a namespaceSelector: all, or none.",
    )
    gpu_resources: tuple[Name, ...] = Field(
        default=("nvidia.com/gpu", "amd.com/gpu"),
        description=(
            "The resources whose sum is gpu in the quotas of Queues (a JSON list in the "
            "environment)."
        ),
    )
    kueue: QuotaOf = Field(
        default=QuotaOf.AUTO,
        description=(
            "Whether ClusterQueues bound what gangs get: auto, unless Kueue's controller runs, "
            "which decides it then; enforce; or ignore. They are charged and shown in any case."
        ),
    )
    volcano: QuotaOf = Field(
        default=QuotaOf.AUTO,
        description=(
            "Whether Queues of Volcano bound what gangs get: auto, unless Volcano's scheduler "
            "runs; enforce; or ignore."
        ),
    )
    kueue_fairness: KueueFairness = Field(
        default=KueueFairness.PRIORITY,
        description=(
            "In which order ClusterQueues take turns: Priority, or DRS, which is Kueue's fair "
            "sharing."
        ),
    )
    fair_strategies: tuple[FairStrategy, ...] = Field(
        default=tuple(FairStrategy),
        description=(
            "When gangs of a queue that borrows may evict those of one that borrows more, in trees "
            "with fairness DRS or DRF: LessThanOrEqualToFinalShare, LessThanInitialShare, or both."
        ),
    )
    default_queue: str = Field(
        default="",
        description=(
            "Queue of gangs that name none, unless their namespace has a default of its own or a "
            "LocalQueue called default; empty: the queue none."
        ),
    )
    require_queue: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Namespaces whose gangs must be in a queue (a JSON list in the environment); *: all. "
            "Other gangs in them wait with QueueNotFound."
        ),
    )
    count_other_schedulers: CountOtherSchedulers = Field(
        default=CountOtherSchedulers.LABELLED,
        description=(
            "Whether pods of other schedulers are charged to the queue that their labels name: "
            "labelled, or none."
        ),
    )
    resource_transformations: Annotated[
        tuple[Annotated[ResourceTransformation, BeforeValidator(_from_json)], ...],
        AfterValidator(_each_input_once),
    ] = Field(
        default=(),
        description=(
            "What quotas count for resources (a JSON list in the environment): input, strategy "
            "Retain or Replace, multiplyBy, and outputs, the amount of each for one of the input."
        ),
    )
    exclude_resource_prefixes: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Prefixes of resources that quotas do not count (a JSON list in the environment)."
        ),
    )
    aging_per_hour: int = Field(
        default=0,
        ge=0,
        description=(
            "How much an hour of waiting adds to the priority by which the gangs of a queue are "
            "ordered, where the queue does not say it; 0: nothing."
        ),
    )
    aging_max: int = Field(
        default=1000,
        ge=0,
        description="How much waiting adds at most, where the queue does not say it.",
    )
    reservation_after_seconds: int = Field(
        default=300,
        ge=0,
        description=(
            "How long a gang of a queue waits before it is promised a start, and before its queue "
            "is said to starve if the gang asks for no more than the queue's own quota."
        ),
    )
    reservations: int = Field(
        default=1,
        ge=0,
        le=8,
        description=(
            "How many gangs that do not fit are promised a start at once; later gangs that would "
            "delay them wait. 0: none."
        ),
    )
    reservation_timeout_seconds: int = Field(
        default=86_400,
        ge=60,
        description=(
            "After how long a gang that is promised a start loses that promise, for an hour."
        ),
    )
    backfill_window_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How far away the declared end of a gang may be to count; one that is later is as "
            "good as unknown."
        ),
    )
    enforce_backfill: bool = Field(
        default=True,
        description=(
            "Let a gang that waited evict those that were let pass because of their declared "
            "ends, once these have passed."
        ),
    )
    yield_memory_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How long it counts that a gang of a queue was evicted for another one: so long, no "
            "plan of the same or a weaker right closes a circle of evictions."
        ),
    )
    manage_jobs: tuple[ManagedKind, ...] = Field(
        default=(),
        description=(
            "Kinds of workloads that wait without pods while they are suspended, if they name a "
            "queue and have our schedulerName, and that are let start when their gang fits (a JSON "
            "list in the environment)."
        ),
    )
    pods_timeout_seconds: int = Field(
        default=120,
        ge=1,
        description=(
            "How long quota and room are kept for the pods of a workload that was suspended, once "
            "it is let start; then it is suspended again."
        ),
    )
    lost_work_cap_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How much work of a pod counts at most where sets of pods to evict are compared: what "
            "it did since its gang last saved its work, or since it began."
        ),
    )
    provisioning_requests: bool = Field(
        default=False,
        description=(
            "Buy nodes for gangs that lack nothing but room: write ProvisioningRequests of the "
            "class that they or their queues name."
        ),
    )
    provisioning_retries: int = Field(
        default=3,
        ge=0,
        le=100,
        description=(
            "How often nodes are asked for again after a request came to nothing, where no "
            "ProvisioningRequestConfig says it."
        ),
    )
    provisioning_backoff_seconds: int = Field(
        default=60,
        ge=1,
        le=1800,
        description=(
            "After how long nodes are asked for again the first time; doubled each time, up to "
            "half an hour."
        ),
    )
    usage_half_life_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "After how long the use of quota in the past counts by half in the order of queues by "
            "DRF and FairShare, and of the LocalQueues of a ClusterQueue that shares by usage; 0: "
            "it does not count."
        ),
    )


class Settings(Policy, BaseSettings):
    """Every setting of `run`: field `like_this` is flag `--like-this` and `PGS_LIKE_THIS`."""

    model_config = SettingsConfigDict(env_prefix="PGS_", frozen=True, extra="forbid")

    on_partial_gang: OnPartialGang = Field(
        default=OnPartialGang.HOLD,
        description=(
            "When a crash left a gang bound in part and its rest finds no room until the schedule "
            "timeout: Hold keeps the bound members, Release deletes them."
        ),
    )
    checkpoint_annotations: bool = Field(
        default=False,
        description=(
            "Ask gangs in the checkpoint mode Annotation to save their work before they are "
            "evicted. Without it they are deleted as in the mode Signal."
        ),
    )
    checkpoint_http: bool = Field(
        default=False,
        description=(
            "Ask gangs in the checkpoint mode HTTP, each at the IP of a pod of its own. Without it "
            "they are deleted as in the mode Signal."
        ),
    )
    max_checkpoint_seconds: int = Field(
        default=300,
        ge=1,
        description="How long a gang may take at most to save its work when it is asked to.",
    )
    max_checkpoints: int = Field(
        default=5,
        ge=1,
        le=MOST_CHECKPOINTS,
        description="How many checkpoints the status of a PodGroup lists; the files stay.",
    )
    max_grace_period_seconds: int = Field(
        default=600,
        ge=0,
        description=(
            "How much of the gracePeriod of a queue counts, by which pods may get longer to end "
            "than they ask for."
        ),
    )
    degraded_gangs: DegradedGangs = Field(
        default=DegradedGangs.WAIT,
        description=(
            "When the domain of a gang that runs has no room for members that replace lost ones: "
            "Wait until it has; Evict the whole gang after its schedule timeout, so that it starts "
            "anew anywhere."
        ),
    )
    force_delete_stuck_pods_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "After how long at the earliest pods are deleted by force that are stuck on failed "
            "nodes, of gangs that allow it with annotation "
            "py-gang-scheduler.io/force-delete-stuck-pods; 0: never."
        ),
    )
    claim_timeout_seconds: int = Field(
        default=600,
        ge=1,
        description=(
            "How long the room of a gang is held while claims of its members are being bound."
        ),
    )
    kueue_namespace: Name = Field(
        default="kueue-system",
        description="The namespace of the Lease by which Kueue's controller is known to run.",
    )
    volcano_jobs: bool = Field(
        default=False,
        description=(
            "Let Jobs of Volcano with our schedulerName have their pods created: write the phase "
            "Inqueue into their PodGroups once their queue would admit them."
        ),
    )
    volcano_namespace: Name = Field(
        default="volcano-system",
        description="The namespace of the Lease by which Volcano's scheduler is known to run.",
    )
    bind_concurrency: int = Field(
        default=64, ge=1, le=1024, description="Bindings in flight at once."
    )
    batch_milliseconds: int = Field(
        default=20,
        ge=0,
        description="How long a cycle waits after the first change for others to come with it.",
    )
    status_interval_milliseconds: int = Field(
        default=500,
        ge=50,
        description="The least time between two status writes to one PodGroup.",
    )
    status_concurrency: int = Field(
        default=8, ge=1, le=256, description="Status and Event writes in flight at once."
    )
    pod_events: bool = Field(
        default=True,
        description=(
            "Write Events on the members of gangs, too: why they wait, and where they were bound."
        ),
    )
    pod_event_seconds: int = Field(
        default=10,
        ge=0,
        le=3600,
        description="How long a reason must stand before a waiting pod gets an Event of it.",
    )
    source: PodSource = Field(
        default=PodSource.KOPF,
        description=(
            "What watches the cluster: kopf, or the reflector, which takes a fraction of the CPU, "
            "for large clusters."
        ),
    )
    sweep_seconds: int = Field(
        default=300,
        ge=5,
        description=(
            "How often the cache is compared with a list, to notice deletions that Kopf missed; "
            "the reflector misses none."
        ),
    )
    metrics_queues: int = Field(
        default=500,
        ge=0,
        description="How many queues have metrics of their own; the others are summed as _other.",
    )
    gauge_shapes: tuple[Shape, ...] = Field(
        default=("nvidia.com/gpu=8",),
        max_length=4,
        description=(
            "Of which members pgs_largest_gang says how many fit: RESOURCE=QUANTITY, several with "
            "commas between (a JSON list in the environment)."
        ),
    )
    http_client: HttpClientName = Field(
        default=HttpClientName.BUILTIN,
        description=(
            "What sends the requests beside the watches: builtin, or aiohttp, which takes about "
            "four times as much CPU a request."
        ),
    )
    http_host: str = Field(
        default="0.0.0.0",  # noqa: S104 - a pod's probes and scrapes come from outside of it.
        description="Address of /metrics, /healthz and /readyz.",
    )
    http_port: int = Field(
        default=8080, ge=0, le=65535, description="Port of these; 0 picks a free one."
    )
    leader_elect: bool = Field(
        default=True, description="Hold a Lease while scheduling, so that replicas take turns."
    )
    lease_name: str = Field(default="py-gang-scheduler", description="Name of the Lease.")
    lease_namespace: str = Field(
        default="", description="Namespace of the Lease; empty: the pod's own, else kube-system."
    )
    kubeconfig: str = Field(
        default="", description="Path of a kubeconfig; empty: in-cluster, else the usual places."
    )
    log_format: LogFormat = Field(default=LogFormat.JSON, description="json or console.")
    log_level: LogLevel = Field(default=LogLevel.INFO, description="debug, info, warning or error.")


def unknown_variables() -> list[str]:
    """Return the variables of the environment that are named like a setting, and are none."""
    prefix = Settings.model_config["env_prefix"]
    known = {f"{prefix}{name}".upper() for name in Settings.model_fields}
    # As pydantic reads them: in upper or lower case.
    ours = (name for name in os.environ if name.upper().startswith(prefix))
    return sorted(name for name in ours if name.upper() not in known)
