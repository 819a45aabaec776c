"""Whose queues count, what quotas count, and the order of turns."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field

from gang_scheduler.settings.choices import (
    CountOtherSchedulers,
    FairStrategy,
    KueueFairness,
    QueueNamespaces,
    QuotaOf,
)
from gang_scheduler.settings.values import Name, ResourceTransformation, each_input_once, from_json


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
        default=KueueFairness.PRIORITY,
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
