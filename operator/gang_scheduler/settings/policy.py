"""The settings on which decisions depend, by subject."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from gang_scheduler.model.values import Fairness, FairStrategy
from gang_scheduler.settings.values import (
    CountOtherSchedulers,
    DegradedGangs,
    GangKind,
    KueueFairness,
    ManagedKind,
    Name,
    OnPartialGang,
    QueueNamespaces,
    QuotaOf,
    ResourceTransformation,
    SpareNodes,
    Strategy,
    each_input_once,
    from_json,
)

# How pods are evicted, and what happens to gangs that lost some.

MOST_CHECKPOINTS = 64
"""How many checkpoints the CRD of PodGroups takes."""


class EvictionSettings(BaseModel):
    """How pods are evicted, and what becomes of gangs that lost some."""

    on_partial_gang: OnPartialGang = Field(
        default=OnPartialGang.HOLD,
        description=(
            "What to do with a gang that a crash left bound in part and whose rest finds no "
            "room until the schedule timeout: Hold keeps the bound members, Release deletes "
            "them."
        ),
    )
    checkpoint_annotations: bool = Field(
        default=False,
        description=(
            "Whether to ask gangs in the checkpoint mode Annotation to save their work before "
            "they are evicted. Without it they are deleted as in the mode Signal."
        ),
    )
    checkpoint_http: bool = Field(
        default=False,
        description=(
            "Whether to ask gangs in the checkpoint mode HTTP to save their work, at the IP "
            "of one of their own pods. Without it they are deleted as in the mode Signal."
        ),
    )
    max_checkpoint_seconds: int = Field(
        default=300,
        ge=1,
        description="The most time that a gang gets to save its work when it is asked to.",
    )
    max_checkpoints: int = Field(
        default=5,
        ge=1,
        le=MOST_CHECKPOINTS,
        description=(
            "How many checkpoints the status of a PodGroup lists. The checkpoint files are "
            "never deleted."
        ),
    )
    degraded_gangs: DegradedGangs = Field(
        default=DegradedGangs.WAIT,
        description=(
            "What to do with a running gang that lost members and whose domain has no room "
            "for their replacements: Wait until it has, or Evict the whole gang after its "
            "schedule timeout, so that it can start elsewhere."
        ),
    )
    force_delete_stuck_pods_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "How long a pod must be stuck on a failed node before it is deleted by force. "
            "This applies only to gangs with the annotation "
            "py-gang-scheduler.io/force-delete-stuck-pods. 0: never."
        ),
    )
    claim_timeout_seconds: int = Field(
        default=600,
        ge=1,
        description=(
            "How long the room of a gang is reserved while the volume claims of its members "
            "are being bound."
        ),
    )


# Which pods are a gang, where its members go, and when a node counts as failed.


class GangSettings(BaseModel):
    """What is a gang, where its members go, and what a failed node is."""

    scheduler_names: tuple[Name, ...] = Field(
        default=("py-gang-scheduler",),
        min_length=1,
        description=(
            "The values of spec.schedulerName that this scheduler answers to (a JSON list in "
            "the environment). Add another scheduler's name to take over its manifests "
            "unchanged, once that scheduler no longer runs."
        ),
    )
    strategy: Strategy = Field(
        default=Strategy.BINPACK,
        description=(
            "How nodes are filled: binpack fills the fullest nodes first, spread the emptiest."
        ),
    )
    gang_kinds: tuple[GangKind, ...] = Field(
        default=tuple(GangKind),
        description=(
            "Workload kinds that are gangs by default (a JSON list in the environment). Pods "
            "of other kinds become a gang with the label py-gang-scheduler.io/gang=true; the "
            "value false makes single pods of any kind."
        ),
    )
    schedule_timeout_seconds: int = Field(
        default=600,
        gt=0,
        description="After how long the scheduler reports a complete gang that it could not bind.",
    )
    node_failure_seconds: int = Field(
        default=30,
        ge=0,
        description="How long a node must be NotReady before it counts as failed.",
    )
    node_failure_taints: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Further taint keys that mark a node as failed (a JSON list in the environment). "
            "The taints out-of-service and unreachable of Kubernetes always do."
        ),
    )
    spare_nodes: tuple[Annotated[SpareNodes, BeforeValidator(from_json)], ...] = Field(
        default=(),
        description=(
            "Nodes to keep free for members that replace lost ones (a JSON list in the "
            'environment). For example [{"layer": "BlockLayer", "count": 1, "nodeSelector": '
            "{}}] keeps the last free node of each block."
        ),
    )


# Which pods are evicted for gangs that do not fit.


class PreemptionSettings(BaseModel):
    """Which pods are evicted for gangs that do not fit."""

    preemption: bool = Field(
        default=True,
        description="Whether gangs that do not fit may evict pods of lower priority.",
    )
    preempt_other_schedulers: bool = Field(
        default=False, description="Whether pods of other schedulers may be evicted, too."
    )
    min_priority_difference: int = Field(
        default=1,
        ge=1,
        description="By how much the priority of a gang must exceed that of the pods it evicts.",
    )
    max_victims: int = Field(
        default=0, ge=0, description="The most pods that one gang may evict at once. 0: any number."
    )
    min_runtime_before_preemption_seconds: int = Field(
        default=0, ge=0, description="How long a pod must have run before it may be evicted."
    )
    max_min_runtime_seconds: int = Field(
        default=3600,
        ge=0,
        description=(
            "The most that a gang can ask for with the annotation "
            "py-gang-scheduler.io/min-runtime; a longer time counts as this. 0: the "
            "annotation has no effect."
        ),
    )
    protection_label_namespaces: tuple[Name, ...] = Field(
        default=(),
        description=(
            "The namespaces in which a label can protect pods from preemption (a JSON list in "
            "the environment). Empty: all namespaces, so anyone can make a pod immune."
        ),
    )
    preempt_unprotected_jobs: bool = Field(
        default=True,
        description=(
            "Whether to evict pods of Jobs that one such eviction can end for good: Jobs with "
            "more pods than backoffLimit and no podFailurePolicy that ignores "
            "DisruptionTarget."
        ),
    )
    use_eviction_api: bool = Field(
        default=False,
        description=(
            "Evict through the Eviction API instead of deleting pods. The API refuses what a "
            "PodDisruptionBudget forbids, so budgets become a hard limit."
        ),
    )
    hide_foreign_names: bool = Field(
        default=False,
        description=(
            "In messages to other namespaces, name a gang that evicts their pods by its uid "
            "instead of its name."
        ),
    )
    victim_timeout_seconds: int = Field(
        default=300,
        ge=1,
        description=(
            "How long to wait for a victim after its grace period. After that the scheduler "
            "reports it and looks for room elsewhere."
        ),
    )
    max_termination_seconds: int = Field(
        default=300,
        ge=1,
        description=(
            "How long a deleted pod may take to end and still count as leaving. A pod that "
            "takes longer counts as staying: it is evicted only where no other pod makes "
            "room, and with this grace period unless its queue allows more."
        ),
    )
    max_grace_period_seconds: int = Field(
        default=600,
        ge=0,
        description=(
            "The most that the gracePeriod of a Queue can add to the time that evicted pods "
            "get to end."
        ),
    )
    lost_work_cap_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "The most work of one pod that counts when the scheduler compares possible "
            "victims. A pod's work is the time since its gang last saved a checkpoint, or "
            "since it started."
        ),
    )


# Which queues count, which quotas count, and the order of queues.


class QueueSettings(BaseModel):
    """Whose queues count, what quotas count, and the order of turns."""

    queue_namespaces: QueueNamespaces = Field(
        default=QueueNamespaces.ALL,
        description="Which namespaces may use a Queue that has no namespaceSelector: all, or none.",
    )
    gpu_resources: tuple[Name, ...] = Field(
        default=("nvidia.com/gpu", "amd.com/gpu"),
        description=(
            "The resources that quotas of Queues sum up as gpu (a JSON list in the environment)."
        ),
    )
    kueue: QuotaOf = Field(
        default=QuotaOf.AUTO,
        description=(
            "Whether ClusterQueues of Kueue limit gangs. auto: only while Kueue's controller "
            "does not run, since that decides otherwise; enforce: always; ignore: never. "
            "Their usage is shown in any case."
        ),
    )
    volcano: QuotaOf = Field(
        default=QuotaOf.AUTO,
        description=(
            "Whether Queues of Volcano limit gangs. auto: only while Volcano's scheduler does "
            "not run; enforce: always; ignore: never."
        ),
    )
    kueue_fairness: KueueFairness = Field(
        default=Fairness.PRIORITY,
        description=(
            "The order in which ClusterQueues take turns: Priority, or DRS, which is Kueue's "
            "fair sharing. Kueue keeps this in its own configuration, so it cannot be read "
            "from an object."
        ),
    )
    fair_strategies: tuple[FairStrategy, ...] = Field(
        default=tuple(FairStrategy),
        description=(
            "When a gang of a borrowing queue may evict gangs of a queue that borrows more, "
            "in trees with fairness DRS or DRF: LessThanOrEqualToFinalShare, "
            "LessThanInitialShare, or both. Kueue calls this preemptionStrategies."
        ),
    )
    default_queue: str = Field(
        default="",
        description=(
            "The queue of gangs that name none. A namespace can set its own with the "
            "annotation py-gang-scheduler.io/default-queue or with a LocalQueue called "
            "default. Empty: such gangs are in no queue."
        ),
    )
    require_queue: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Namespaces whose gangs must name a queue (a JSON list in the environment); * "
            "means all. Gangs without a queue wait there with the reason QueueNotFound."
        ),
    )
    count_other_schedulers: CountOtherSchedulers = Field(
        default=CountOtherSchedulers.LABELLED,
        description=(
            "Whether pods of other schedulers use up quota. labelled: they are charged to the "
            "queue that their labels name; none: they only take room."
        ),
    )
    resource_transformations: Annotated[
        tuple[Annotated[ResourceTransformation, BeforeValidator(from_json)], ...],
        AfterValidator(each_input_once),
    ] = Field(
        default=(),
        description=(
            "What quotas count instead of a resource, as in Kueue (a JSON list in the "
            'environment). For example [{"input": "nvidia.com/mig-1g.5gb", "strategy": '
            '"Replace", "outputs": {"example.com/gpu-memory": "5Gi"}}]. With the strategy '
            "Retain, the default, the input counts as well. multiplyBy names a resource by "
            "whose amount the outputs are multiplied. Room on nodes always counts what pods "
            "request."
        ),
    )
    exclude_resource_prefixes: tuple[Name, ...] = Field(
        default=(),
        description=(
            "Prefixes of resources that quotas do not count (a JSON list in the environment). "
            "They are left out before any transformation."
        ),
    )
    aging_per_hour: int = Field(
        default=0,
        ge=0,
        description=(
            "How much priority a gang gains in the order of its queue for each hour it waits, "
            "unless the queue says otherwise. 0: none."
        ),
    )
    aging_max: int = Field(
        default=1000,
        ge=0,
        description=(
            "The most priority that a gang can gain by waiting, unless the queue says otherwise."
        ),
    )
    yield_memory_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How long the scheduler remembers that a gang was evicted for another queue's "
            "gang. During that time it makes no plan that would close a circle of evictions."
        ),
    )
    usage_half_life_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "After how long past usage counts by half when queues are compared by DRF or "
            "FairShare, and LocalQueues of a ClusterQueue by usage. 0: past usage does not "
            "count."
        ),
    )


# Which gangs are promised a start, and which gangs may pass them.


class ReservationSettings(BaseModel):
    """To which gangs a start is promised, and what may pass these."""

    reservation_after_seconds: int = Field(
        default=300,
        ge=0,
        description=(
            "How long a gang waits in its queue before the scheduler promises it a start. A "
            "queue whose oldest gang waits this long within the queue's own quota gets the "
            "condition Starving."
        ),
    )
    reservations: int = Field(
        default=1,
        ge=0,
        le=8,
        description=(
            "How many waiting gangs can be promised a start at the same time. Later gangs "
            "that would delay a promised start wait with the reason WaitingForTurn. 0: no "
            "promises."
        ),
    )
    reservation_timeout_seconds: int = Field(
        default=86_400,
        ge=60,
        description=(
            "After how long a promise that could not be kept is withdrawn for an hour, so "
            "that a gang that never fits does not hold up others for ever."
        ),
    )
    backfill_window_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How far ahead the declared end of a gang is believed. A later end counts as unknown."
        ),
    )
    enforce_backfill: bool = Field(
        default=True,
        description=(
            "Whether a gang that waited may evict gangs that were let pass because of their "
            "declared ends, once they run beyond these."
        ),
    )


# Which workloads wait without pods, and how nodes are requested.


class WorkloadSettings(BaseModel):
    """What waits without pods, and the nodes that are bought."""

    manage_jobs: tuple[ManagedKind, ...] = Field(
        default=(),
        description=(
            "Workload kinds that wait suspended, without pods, and are started by the "
            "scheduler when their gang fits (a JSON list in the environment). A workload "
            "takes part if it names a queue and has this scheduler's schedulerName."
        ),
    )
    pods_timeout_seconds: int = Field(
        default=120,
        ge=1,
        description=(
            "How long quota and room are kept for the pods of a workload that was just "
            "started. If no pods appear in this time, it is suspended again."
        ),
    )
    provisioning_requests: bool = Field(
        default=False,
        description=(
            "Whether to ask for nodes for gangs that lack only room, by writing "
            "ProvisioningRequests of the class that the gang or its queue names."
        ),
    )
    provisioning_retries: int = Field(
        default=3,
        ge=0,
        le=100,
        description=(
            "How often to ask for nodes again after a request failed, unless a "
            "ProvisioningRequestConfig says otherwise."
        ),
    )
    provisioning_backoff_seconds: int = Field(
        default=60,
        ge=1,
        le=1800,
        description=(
            "How long to wait before the first further request for nodes. The time doubles "
            "with each failure, up to half an hour."
        ),
    )


# Fields are in the order of the bases from the last to the first.
class Policy(
    WorkloadSettings, ReservationSettings, QueueSettings, PreemptionSettings, GangSettings
):
    """The settings that decisions depend on: those of `run` that are flags of `simulate`, too."""

    model_config = ConfigDict(frozen=True, extra="forbid")
