"""The settings on which decisions depend, by subject.

Each setting is declared only here: its type, bounds, default and the text of `--help`.
`settings.policy` checks the values with pydantic, and `Policy.rules` hands them to their readers.
To add a setting, add a field here and read it where it has its effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Final

from annotated_types import Ge, Gt, Le, MinLen, doc

from gang_scheduler.model.api_words import (
    CountOtherSchedulers,
    Dra,
    ElasticKind,
    Fairness,
    FairStrategy,
    GangKind,
    GatherComputeDomains,
    ManagedKind,
    NodeStrategy,
    QueueNamespaces,
    QuotaOf,
    TransformationStrategy,
)

Name = Annotated[str, MinLen(1)]


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


_OF_JSON: Final[Mapping[str, Any]] = {
    "extra": "forbid",
    "alias_generator": _camel,
    # As snapshots have them.
    "populate_by_name": True,
}
"""How pydantic reads a setting that is an object: keys in camel case, and no unknown ones."""


@dataclass(frozen=True)
class SpareNodes:
    """How many free nodes of each domain of a layer are kept for members that replace lost ones.

    Only nodes with the labels of nodeSelector count.
    """

    layer: Name
    count: Annotated[int, Ge(1)] = 1
    node_selector: Mapping[Name, str] = field(default_factory=dict, hash=False)

    __pydantic_config__: ClassVar = _OF_JSON


@dataclass(frozen=True, kw_only=True)
class ResourceTransformation:
    """What quotas count for a resource: for each unit of `input`, these amounts of `outputs`.

    If the pod requests `multiplyBy`, too, the outputs are multiplied by that request.
    """

    input: Name
    strategy: TransformationStrategy = TransformationStrategy.RETAIN
    multiply_by: str = ""
    outputs: Mapping[Name, str | int] = field(hash=False)

    __pydantic_config__: ClassVar = _OF_JSON


@dataclass(frozen=True, kw_only=True)
class CelSelector:
    """An expression about a device."""

    expression: Name

    __pydantic_config__: ClassVar = _OF_JSON


@dataclass(frozen=True, kw_only=True)
class DeviceSelector:
    """The devices that a source counts."""

    cel: CelSelector

    __pydantic_config__: ClassVar = _OF_JSON


@dataclass(frozen=True, kw_only=True)
class DeviceAmount:
    """A counter or a capacity of devices, of one driver if it is named."""

    name: Name
    driver: str = ""
    device_selector: DeviceSelector | None = None

    __pydantic_config__: ClassVar = _OF_JSON


@dataclass(frozen=True, kw_only=True)
class DeviceClassSource:
    """Counts devices by what they use of a counter, or by what requests take of a capacity.

    One of both is set.
    """

    counter: DeviceAmount | None = None
    capacity: DeviceAmount | None = None

    __pydantic_config__: ClassVar = _OF_JSON

    @property
    def _amount(self) -> DeviceAmount | None:
        return self.counter or self.capacity

    @property
    def driver(self) -> str:
        """The driver of the devices that count; empty for any."""
        return self._amount.driver if self._amount is not None else ""

    @property
    def selectors(self) -> tuple[str, ...]:
        """The CEL expressions that must be true of a device, so that it counts."""
        selector = self._amount.device_selector if self._amount is not None else None
        return (selector.cel.expression,) if selector is not None else ()


@dataclass(frozen=True, kw_only=True)
class DeviceClassMapping:
    """The name by which queues count the devices of some DeviceClasses, as in Kueue.

    With `sources`, not the number of devices counts, but the sum of these.
    """

    name: Name
    device_class_names: Annotated[tuple[Name, ...], MinLen(1)]
    sources: tuple[DeviceClassSource, ...] = ()

    __pydantic_config__: ClassVar = _OF_JSON


@dataclass(frozen=True)
class GangRules:
    """Settings for gangs: which pods form one, where members go, and which nodes have failed."""

    scheduler_names: Annotated[
        tuple[Name, ...],
        MinLen(1),
        doc(
            "The values of spec.schedulerName that this scheduler answers to (a JSON list "
            "in the environment). Add another scheduler's name to take over its manifests "
            "unchanged, once that scheduler no longer runs."
        ),
    ] = ("py-gang-scheduler",)
    strategy: Annotated[
        NodeStrategy,
        doc("How nodes are filled: binpack fills the fullest nodes first, spread the emptiest."),
    ] = NodeStrategy.BINPACK
    gang_kinds: Annotated[
        tuple[GangKind, ...],
        doc(
            "Workload kinds that are gangs by default (a JSON list in the environment). "
            "Pods of other kinds become a gang with the label "
            "py-gang-scheduler.io/gang=true; the value false makes single pods of any kind."
        ),
    ] = tuple(GangKind)
    schedule_timeout_seconds: Annotated[
        int,
        Gt(0),
        doc("After how long the scheduler reports a complete gang that it could not bind."),
    ] = 600
    max_term_comparisons: Annotated[
        int,
        Ge(1),
        doc(
            "How many comparisons with pods the terms of a namespace about other pods "
            "(affinity, anti-affinity, spread) may count as, together. Terms of the newest "
            "pods beyond that select no pod, and these pods wait. A comparison takes about "
            "two microseconds."
        ),
    ] = 4_000_000
    node_failure_seconds: Annotated[
        int, Ge(0), doc("How long a node must be NotReady before it counts as failed.")
    ] = 30
    node_failure_taints: Annotated[
        tuple[Name, ...],
        doc(
            "Further taint keys that mark a node as failed (a JSON list in the "
            "environment). The taints out-of-service and unreachable of Kubernetes always "
            "do."
        ),
    ] = ()
    spare_nodes: Annotated[
        tuple[SpareNodes, ...],
        doc(
            "Nodes to keep free for members that replace lost ones (a JSON list in the "
            'environment). For example [{"layer": "BlockLayer", "count": 1, "nodeSelector": '
            "{}}] keeps the last free node of each block."
        ),
    ] = ()


@dataclass(frozen=True)
class PreemptionRules:
    """Which pods are evicted for gangs that do not fit."""

    preemption: Annotated[
        bool, doc("Whether gangs that do not fit may evict pods of lower priority.")
    ] = True
    preempt_other_schedulers: Annotated[
        bool, doc("Whether pods of other schedulers may be evicted, too.")
    ] = False
    min_priority_difference: Annotated[
        int,
        Ge(1),
        doc("By how much the priority of a gang must exceed that of the pods it evicts."),
    ] = 1
    max_victims: Annotated[
        int, Ge(0), doc("The most pods that one gang may evict at once. 0: any number.")
    ] = 0
    min_runtime_before_preemption_seconds: Annotated[
        int, Ge(0), doc("How long a pod or its gang must have run before it may be evicted.")
    ] = 0
    max_min_runtime_seconds: Annotated[
        int,
        Ge(0),
        doc(
            "The most that a gang can ask for with the annotation "
            "py-gang-scheduler.io/min-runtime; a longer time counts as this. 0: the "
            "annotation has no effect."
        ),
    ] = 3600
    protection_label_namespaces: Annotated[
        tuple[Name, ...],
        doc(
            "The namespaces in which a label can protect pods from preemption (a JSON list "
            "in the environment). Empty: all namespaces, so anyone can make a pod immune."
        ),
    ] = ()
    preempt_unprotected_jobs: Annotated[
        bool,
        doc(
            "Whether to evict pods of Jobs that one such eviction can end for good: Jobs "
            "with more pods than backoffLimit and no podFailurePolicy that ignores "
            "DisruptionTarget."
        ),
    ] = True
    use_eviction_api: Annotated[
        bool,
        doc(
            "Evict through the Eviction API instead of deleting pods. The API refuses what "
            "a PodDisruptionBudget forbids, so budgets become a hard limit."
        ),
    ] = False
    hide_foreign_names: Annotated[
        bool,
        doc(
            "In messages to other namespaces, name a gang that evicts their pods by its uid "
            "instead of its name."
        ),
    ] = False
    victim_timeout_seconds: Annotated[
        int,
        Ge(1),
        doc(
            "How long to wait for a victim after its grace period. After that the scheduler "
            "reports it and looks for room elsewhere."
        ),
    ] = 300
    max_termination_seconds: Annotated[
        int,
        Ge(1),
        doc(
            "How long a deleted pod may take to end and still count as leaving. A pod that "
            "takes longer counts as staying: it is evicted only where no other pod makes "
            "room, and with this grace period unless its queue allows more."
        ),
    ] = 300
    max_grace_period_seconds: Annotated[
        int,
        Ge(0),
        doc(
            "The most that the gracePeriod of a Queue can add to the time that evicted pods "
            "get to end."
        ),
    ] = 600
    lost_work_cap_seconds: Annotated[
        int,
        Ge(0),
        doc(
            "The most work of one pod that counts when the scheduler compares possible "
            "victims. A pod's work is the time since its gang last saved a checkpoint, or "
            "since it started."
        ),
    ] = 86_400

    def counted_min_runtime(self, seconds: int) -> int:
        """Return the part of a requested minimum run time that counts."""
        return min(seconds, self.max_min_runtime_seconds)


@dataclass(frozen=True)
class QueueRules:
    """Settings for queues: which queues count, how requests are charged, and the order of turns."""

    queue_namespaces: Annotated[
        QueueNamespaces,
        doc("Which namespaces may use a Queue that has no namespaceSelector: all, or none."),
    ] = QueueNamespaces.ALL
    gpu_resources: Annotated[
        tuple[Name, ...],
        doc("The resources that quotas of Queues sum up as gpu (a JSON list in the environment)."),
    ] = ("nvidia.com/gpu", "amd.com/gpu")
    kueue: Annotated[
        QuotaOf,
        doc(
            "Whether ClusterQueues of Kueue limit gangs. auto: only while Kueue's "
            "controller does not run, since that decides otherwise; enforce: always; "
            "ignore: never. Their usage is shown in any case."
        ),
    ] = QuotaOf.AUTO
    volcano: Annotated[
        QuotaOf,
        doc(
            "Whether Queues of Volcano limit gangs. auto: only while Volcano's scheduler "
            "does not run; enforce: always; ignore: never."
        ),
    ] = QuotaOf.AUTO
    kueue_fairness: Annotated[
        Fairness,
        doc(
            "The order in which ClusterQueues take turns: Priority, or DRS, which is "
            "Kueue's fair sharing. Kueue keeps this in its own configuration, so it cannot "
            "be read from an object."
        ),
    ] = Fairness.PRIORITY
    fair_strategies: Annotated[
        tuple[FairStrategy, ...],
        doc(
            "When a gang of a borrowing queue may evict gangs of a queue that borrows more, "
            "in trees with fairness DRS or DRF: LessThanOrEqualToFinalShare, "
            "LessThanInitialShare, or both. Kueue calls this preemptionStrategies."
        ),
    ] = tuple(FairStrategy)
    default_queue: Annotated[
        str,
        doc(
            "The queue of gangs that name none. A namespace can set its own with the "
            "annotation py-gang-scheduler.io/default-queue or with a LocalQueue called "
            "default. Empty: such gangs are in no queue."
        ),
    ] = ""
    require_queue: Annotated[
        tuple[Name, ...],
        doc(
            "Namespaces whose gangs must name a queue (a JSON list in the environment); * "
            "means all. Gangs without a queue wait there with the reason QueueNotFound."
        ),
    ] = ()
    count_other_schedulers: Annotated[
        CountOtherSchedulers,
        doc(
            "Whether pods of other schedulers use up quota. labelled: they are charged to "
            "the queue that their labels name; none: they only take room."
        ),
    ] = CountOtherSchedulers.LABELLED
    resource_transformations: Annotated[
        tuple[ResourceTransformation, ...],
        doc(
            "What quotas count instead of a resource, as in Kueue (a JSON list in the "
            'environment). For example [{"input": "nvidia.com/mig-1g.5gb", "strategy": '
            '"Replace", "outputs": {"example.com/gpu-memory": "5Gi"}}]. With the strategy '
            "Retain, the default, the input counts as well. multiplyBy names a resource by "
            "whose amount the outputs are multiplied. Room on nodes always counts what pods "
            "request."
        ),
    ] = ()
    device_class_mappings: Annotated[
        tuple[DeviceClassMapping, ...],
        doc(
            "The names by which queues count devices of claims, as in Kueue (a JSON list in the "
            'environment). For example [{"name": "example.com/gpu", "deviceClassNames": '
            '["gpu.example.com"]}], or short example.com/gpu=gpu.example.com. A class that is not '
            "named here counts as deviceclass/NAME. With sources, not their number counts but a "
            'counter or capacity: [{"counter": {"name": "memory", "driver": "gpu.example.com"}}], '
            "or capacity instead of counter."
        ),
    ] = ()
    exclude_resource_prefixes: Annotated[
        tuple[Name, ...],
        doc(
            "Prefixes of resources that quotas do not count (a JSON list in the "
            "environment). They are left out before any transformation."
        ),
    ] = ()
    aging_per_hour: Annotated[
        int,
        Ge(0),
        doc(
            "How much priority a gang gains in the order of its queue for each hour it "
            "waits, unless the queue says otherwise. 0: none."
        ),
    ] = 0
    aging_max: Annotated[
        int,
        Ge(0),
        doc("The most priority that a gang can gain by waiting, unless the queue says otherwise."),
    ] = 1000
    yield_memory_seconds: Annotated[
        int,
        Ge(0),
        doc(
            "How long the scheduler remembers that a gang was evicted for another queue's "
            "gang. During that time it makes no plan that would close a circle of "
            "evictions."
        ),
    ] = 86_400
    usage_half_life_seconds: Annotated[
        int,
        Ge(0),
        doc(
            "After how long past usage counts by half when queues are compared by DRF or "
            "FairShare, and LocalQueues of a ClusterQueue by usage. 0: past usage does not "
            "count."
        ),
    ] = 0


@dataclass(frozen=True)
class PromiseRules:
    """Settings for promised starts: which gangs get one, and which gangs may pass them."""

    reservation_after_seconds: Annotated[
        int,
        Ge(0),
        doc(
            "How long a gang waits in its queue before the scheduler promises it a start. A "
            "queue whose oldest gang waits this long within the queue's own quota gets the "
            "condition Starving."
        ),
    ] = 300
    reservations: Annotated[
        int,
        Ge(0),
        Le(8),
        doc(
            "How many waiting gangs can be promised a start at the same time. Later gangs "
            "that would delay a promised start wait with the reason WaitingForTurn. 0: no "
            "promises."
        ),
    ] = 1
    reservation_timeout_seconds: Annotated[
        int,
        Ge(60),
        doc(
            "After how long a promise that could not be kept is withdrawn for an hour, so "
            "that a gang that never fits does not hold up others for ever."
        ),
    ] = 86_400
    backfill_window_seconds: Annotated[
        int,
        Ge(0),
        doc("How far ahead the declared end of a gang is believed. A later end counts as unknown."),
    ] = 86_400
    enforce_backfill: Annotated[
        bool,
        doc(
            "Whether a gang that waited may evict gangs that started earlier because of their "
            "declared ends, once they run beyond these."
        ),
    ] = True


@dataclass(frozen=True)
class WorkloadRules:
    """Settings for suspended workloads, and for requesting nodes."""

    manage_jobs: Annotated[
        tuple[ManagedKind, ...],
        doc(
            "Workload kinds that wait suspended, without pods, and are started by the "
            "scheduler when their gang fits (a JSON list in the environment). A workload "
            "takes part if it names a queue and has this scheduler's schedulerName."
        ),
    ] = ()
    elastic_kinds: Annotated[
        tuple[ElasticKind, ...],
        doc(
            "Workload kinds whose number of replicas the scheduler may change, for workloads that "
            "ask for it by the mode Replicas of their elastic annotation (a JSON list in the "
            "environment)."
        ),
    ] = ()
    pods_timeout_seconds: Annotated[
        int,
        Ge(1),
        doc(
            "How long quota and room are kept for the pods of a workload that was just "
            "started. If no pods appear in this time, it is suspended again."
        ),
    ] = 120
    provisioning_requests: Annotated[
        bool,
        doc(
            "Whether to ask for nodes for gangs that lack only room, by writing "
            "ProvisioningRequests of the class that the gang or its queue names."
        ),
    ] = False
    provisioning_retries: Annotated[
        int,
        Ge(0),
        Le(100),
        doc(
            "How often to ask for nodes again after a request failed, unless a "
            "ProvisioningRequestConfig says otherwise."
        ),
    ] = 3
    provisioning_backoff_seconds: Annotated[
        int,
        Ge(1),
        Le(1800),
        doc(
            "How long to wait before the first further request for nodes. The time doubles "
            "with each failure, up to half an hour."
        ),
    ] = 60


@dataclass(frozen=True)
class DeviceRules:
    """Settings for devices that are allocated by claims."""

    dra: Annotated[
        Dra,
        doc(
            "Whether claims of devices are allocated (dynamic resource allocation). auto: "
            "where the API server has resource.k8s.io/v1. off: pods with resourceClaims wait "
            "with UnsupportedFeature."
        ),
    ] = Dra.AUTO
    gather_compute_domains: Annotated[
        GatherComputeDomains,
        doc(
            "Whether members that claim channels of a ComputeDomain (NVIDIA) are placed in one "
            "NVLink domain, which is one value of the node label nvidia.com/gpu.clique. off: only "
            "if they ask for it. prefer: if possible. must: always. Members that must gather in a "
            "layer anyway are placed as they ask."
        ),
    ] = GatherComputeDomains.OFF


NO_PROMISES: Final = PromiseRules(reservations=0)


@dataclass(frozen=True)
class Rules:
    """All settings on which decisions depend; by default, gangs get no promised starts."""

    gangs: GangRules = GangRules()
    preemption: PreemptionRules = PreemptionRules()
    queues: QueueRules = QueueRules()
    promises: PromiseRules = NO_PROMISES
    workloads: WorkloadRules = WorkloadRules()
    devices: DeviceRules = DeviceRules()


NO_SETTINGS: Final = Rules()
