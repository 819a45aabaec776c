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
        tuple[Annotated[ResourceTransformation, BeforeValidator(from_json)], ...],
        AfterValidator(each_input_once),
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
    yield_memory_seconds: int = Field(
        default=86_400,
        ge=0,
        description=(
            "How long it counts that a gang of a queue was evicted for another one: so long, no "
            "plan of the same or a weaker right closes a circle of evictions."
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
