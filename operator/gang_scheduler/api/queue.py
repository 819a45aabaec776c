"""Queue: how much of the cluster its gangs may use, and how much it lends and borrows.

Rules of a single field, and the order of the quotas of one queue, are checked here and by the API
server. Rules that involve other queues are not: such an object must be stored, so that its
condition can explain the fault.
"""

import enum
from typing import Annotated, Any, ClassVar, Final

from pydantic import ConfigDict, Field, Strict, WithJsonSchema

from gang_scheduler.api.pod_group import (
    ATOMIC_LIST,
    CONDITIONS_BY_TYPE,
    QUANTITY_PATTERN,
    ApiModel,
    Condition,
    CustomResource,
    Int32,
    OneOf,
    Quantity,
    Text,
    Time,
)
from gang_scheduler.model.api_words import (
    EvictionPolicy,
    Fairness,
    FlavorPreference,
    Operator,
    StopPolicy,
    Strategy,
)

MOST_RESOURCES: Final = 32
MOST_FLAVORS: Final = 16
MOST_QUEUES: Final = 64
MOST_EXPRESSIONS: Final = 64
"""The most entries; it bounds the cost of the CEL rule that checks each of them."""
DURATION: Final = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
Name = Annotated[Text, Field(min_length=1, max_length=253)]
Names = Annotated[tuple[Name, ...], Field(max_length=MOST_QUEUES)]
Flag = Annotated[bool, Strict()]
Number = Annotated[float, Strict()]
Duration = Annotated[Text, Field(max_length=32, pattern=DURATION)]
Amount = Annotated[
    Quantity,
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "pattern": QUANTITY_PATTERN.replace("(\\+|-)?", r"\+?", 1),
            "minimum": 0,
            "maxLength": 32,
        }
    ),
]
"""A quantity that is not negative.

Its length bounds the cost of CEL rules that compare quantities.
"""
Amounts = Annotated[dict[Text, Amount], Field(max_length=MOST_RESOURCES)]


WhileBorrowing = Annotated[
    EvictionPolicy, OneOf(EvictionPolicy.NEVER, EvictionPolicy.LOWER_PRIORITY)
]
WithinQueue = Annotated[
    EvictionPolicy,
    OneOf(
        EvictionPolicy.NEVER,
        EvictionPolicy.LOWER_PRIORITY,
        EvictionPolicy.LOWER_OR_NEWER_EQUAL_PRIORITY,
    ),
]
SelectorOperator = Annotated[
    Operator, OneOf(Operator.IN, Operator.NOT_IN, Operator.EXISTS, Operator.DOES_NOT_EXIST)
]


class WhenBorrowing(enum.StrEnum):
    """Whether the search for a flavor may end at a flavor that must borrow."""

    MAY_STOP_SEARCH = "MayStopSearch"
    TRY_NEXT_FLAVOR = "TryNextFlavor"


def _no_more(least: str, most: str) -> dict[str, str]:
    """Return the rule that amounts of one field do not exceed the amounts of another."""
    return {
        "rule": (
            f"!has(self.{least}) || !has(self.{most}) || self.{least}.all(r, !(r in self.{most})"
            f" || quantity(string(self.{least}[r])).compareTo("
            f"quantity(string(self.{most}[r]))) <= 0)"
        ),
        "message": f"{least} must not be more than {most}",
    }


class QueueQuota(ApiModel):
    """Amounts of resources. `gpu` stands for all GPUs, of whichever vendor."""

    soft: Amounts | None = Field(
        default=None,
        description=(
            "The quota that the queue is promised. If the queue has queues below it, it is the "
            "sum that is promised to them, and to all of them in common. Absent: hard, else "
            "guaranteed, else nothing."
        ),
    )
    hard: Amounts | None = Field(
        default=None,
        description=(
            "The most that the queue and the queues below it may use, with borrowed quota."
        ),
    )
    guaranteed: Amounts | None = Field(
        default=None, description="The part of soft that is never lent to other queues."
    )


QUOTA_RULES: Final[dict[str, Any]] = {
    "x-kubernetes-validations": [
        _no_more("guaranteed", "soft"),
        _no_more("guaranteed", "hard"),
        _no_more("soft", "hard"),
    ]
}


class FlavorQuota(ApiModel):
    """The quota of a queue on the nodes of a flavor."""

    name: Name = Field(description="The name of a ResourceFlavor.")
    quota: QueueQuota = Field(
        default=QueueQuota(),
        description="Amounts of resources on the nodes of the flavor.",
        json_schema_extra=QUOTA_RULES,
    )


class FlavorFungibility(ApiModel):
    """Which flavors end the search, so that later ones are not tried."""

    when_can_borrow: WhenBorrowing | None = Field(
        default=None,
        description=("Whether a flavor is taken if the gang must borrow for it: MayStopSearch."),
    )
    when_can_preempt: WhenBorrowing | None = Field(
        default=None,
        description=("Whether a flavor is taken if the gang must evict for it: TryNextFlavor."),
    )
    preference: FlavorPreference | None = Field(
        default=None,
        description=("The better choice once all flavors were tried: BorrowingOverPreemption."),
    )


class Borrowing(ApiModel):
    """How much idle quota of other queues the queue may use."""

    enabled: Flag = Field(default=False, description="Whether the queue may borrow.")
    max_borrow_ratio: Number | None = Field(
        default=None,
        ge=0,
        description=(
            "The most that the queue may use above soft, as a part of soft. Absent: up to hard."
        ),
    )
    allowed_queues: Names | None = Field(
        default=None,
        description=(
            "The only queues from which the queue may borrow, with the queues below them."
        ),
        json_schema_extra=ATOMIC_LIST,
    )


# Rules that gangs of a Queue must keep, and rules on which gangs may be evicted for which.


class BorrowingEviction(ApiModel):
    """Which gangs may be evicted by a gang that borrows."""

    policy: WhileBorrowing | None = Field(default=None, description="Never or LowerPriority.")
    max_priority_threshold: Int32 | None = Field(
        default=None,
        description=("The highest priority of gangs that may be evicted for a borrowing gang."),
    )


class QueuePreemption(ApiModel):
    """Which gangs may be evicted for which other gangs."""

    within_queue: WithinQueue | None = Field(
        default=None,
        description=("The gangs of its own queue that a gang may evict: LowerPriority."),
    )
    reclaim: EvictionPolicy | None = Field(
        default=None,
        description=(
            "The gangs of borrowing queues that a gang may evict if it stays within soft: Any. "
            "With any other value, the free part of soft is kept for a waiting gang of the queue."
        ),
    )
    while_borrowing: BorrowingEviction | None = Field(
        default=None,
        description=("The gangs that a borrowing gang may evict, if fairness is Priority."),
    )
    allow_preemption: Flag | None = Field(
        default=None,
        description="Whether gangs of other queues may evict from this one.",
    )
    allow_preempt_from: Names | None = Field(
        default=None,
        description=(
            "The only queues whose gangs may evict gangs of this queue, with the queues below them."
        ),
        json_schema_extra=ATOMIC_LIST,
    )
    grace_period: Duration | None = Field(
        default=None,
        description=(
            "The least time that pods of the queue get to end, if their own grace period is "
            "shorter; at most a setting of the scheduler. Absent: the value of the queue above."
        ),
    )
    fence: Flag | None = Field(
        default=None, description="Whether gangs look for victims below this queue only."
    )
    min_runtime: Duration | None = Field(
        default=None, description="The time that gangs run before they may be evicted."
    )


PRIORITY_RULES: Final[dict[str, Any]] = {
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.min) || !has(self.max) || self.min <= self.max",
            "message": "min must not be more than max",
        }
    ]
}


class PriorityRange(ApiModel):
    """Bounds of the priority of gangs."""

    min: Int32 | None = Field(default=None, description="The lowest priority.")
    max: Int32 | None = Field(default=None, description="The highest priority.")


class AdmissionControl(ApiModel):
    """Limits for gangs, even if the queue has free quota."""

    max_jobs: Int32 | None = Field(
        default=None,
        ge=0,
        description="The number of gangs that may run at once; other gangs wait.",
    )
    max_gpus_per_job: Int32 | None = Field(
        default=None,
        ge=0,
        alias="maxGPUsPerJob",
        description=("The number of GPUs that all members of a gang may have together."),
    )
    priority_range: PriorityRange | None = Field(
        default=None,
        description="The priorities that gangs may have.",
        json_schema_extra=PRIORITY_RULES,
    )


class Aging(ApiModel):
    """How waiting raises the priority in the order of gangs."""

    per_hour: Int32 | None = Field(
        default=None, ge=0, description="The priority that each hour of waiting adds."
    )
    max: Int32 | None = Field(
        default=None, ge=0, description="The most priority that waiting adds."
    )


class Backfill(ApiModel):
    """Whether gangs that wait for long are promised a start."""

    enabled: Flag | None = Field(
        default=None,
        description=(
            "Whether a gang that waits for long is promised a start, so that only gangs that do "
            "not delay it are started before it. true."
        ),
    )
    reservation_after: Duration | None = Field(
        default=None,
        description=(
            "The wait after which a start is promised. The default is a setting of the scheduler."
        ),
    )


class SelectorExpression(ApiModel):
    """A requirement on a label."""

    # A value that does not fit the operator is refused later, where all selectors are read.
    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "(self.operator in ['In', 'NotIn'])"
                        " == (has(self.values) && self.values.size() > 0)"
                    ),
                    "message": (
                        "values is required with In and NotIn, and must be absent with "
                        "other operators"
                    ),
                }
            ]
        }
    )

    key: Name = Field(description="The key of the label.")
    operator: SelectorOperator = Field(description="In, NotIn, Exists or DoesNotExist.")
    values: tuple[Text, ...] = Field(
        default=(), description="Values to compare with.", json_schema_extra=ATOMIC_LIST
    )


class NamespaceSelector(ApiModel):
    """Namespaces by their labels. An empty selector selects all."""

    match_labels: dict[Text, Text] | None = Field(
        default=None, description="Labels that namespaces must have."
    )
    match_expressions: tuple[SelectorExpression, ...] = Field(
        default=(),
        max_length=MOST_EXPRESSIONS,
        description="Conditions on labels of namespaces.",
        json_schema_extra=ATOMIC_LIST,
    )


AmountsByFlavor = dict[Text, dict[Text, Quantity]]
BY_FLAVOR: Final = "by flavor and resource."


class QueueSummary(ApiModel):
    """The figures of one resource of a queue on all nodes, for the columns of kubectl."""

    resource: Text | None = Field(
        default=None,
        description=("The resource: gpu if the queue has GPUs, else cpu, else another one."),
    )
    nominal: Quantity = Field(default=0, description="The quota that the queue is promised.")
    used: Quantity = Field(default=0, description="The amount that the queue uses.")
    borrowed: Quantity = Field(
        default=0, description="The amount that the queue uses of other queues."
    )
    lent: Quantity = Field(default=0, description="The amount that other queues use of this queue.")


class RecentUsage(ApiModel):
    """The decaying average of the queue's usage."""

    at: Time = Field(description="The time when the average was computed.")
    amounts: dict[Text, Quantity] = Field(default={}, description="Amounts of resources.")


class QueueStatus(ApiModel):
    """The state of the queue. Written by the scheduler."""

    nominal: AmountsByFlavor | None = Field(
        default=None, description=f"The quota of the queue and the queues below it, {BY_FLAVOR}"
    )
    used: AmountsByFlavor | None = Field(
        default=None, description=f"The usage of the queue and the queues below it, {BY_FLAVOR}"
    )
    borrowed: AmountsByFlavor | None = Field(
        default=None, description=f"The usage above its own quota, {BY_FLAVOR}"
    )
    lent: AmountsByFlavor | None = Field(
        default=None, description=f"The usage of its quota by other queues, {BY_FLAVOR}"
    )
    fair_share: AmountsByFlavor | None = Field(
        default=None, description=f"Its fair share, by demand and quotas, {BY_FLAVOR}"
    )
    summary: QueueSummary | None = Field(
        default=None,
        description=("One of these resources, summed over all flavors: gpu if the queue has GPUs."),
    )
    share: Text | None = Field(
        default=None,
        description=("The share by which queues are compared. Absent: it is infinite."),
    )
    pending_jobs: Int32 = Field(default=0, ge=0, description="The number of gangs that wait.")
    running_jobs: Int32 = Field(default=0, ge=0, description="The number of gangs that hold quota.")
    recent_usage: RecentUsage | None = Field(
        default=None, description="The decaying average of the amounts that the queue used."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description=("Conditions of the queue: whether it is active, and other findings."),
        json_schema_extra=CONDITIONS_BY_TYPE,
    )


class QueueSpec(ApiModel):
    """The quota of the queue, and how it is used."""

    parent: Name | None = Field(
        default=None, description="The queue above. Absent: root, which needs no object."
    )
    # A queue with an invalid weight is accepted here; it is then inactive.
    weight: Number | None = Field(
        default=None,
        description=(
            "The weight of the queue when quota that no queue was promised is divided: 1. 0: the "
            "queue gets only the rest."
        ),
        json_schema_extra={"minimum": 0},
    )
    quota: QueueQuota | None = Field(
        default=None,
        description=("Amounts of resources on all nodes. Absent if the queue has flavors."),
        json_schema_extra=QUOTA_RULES,
    )
    flavors: tuple[FlavorQuota, ...] | None = Field(
        default=None,
        max_length=MOST_FLAVORS,
        description=("Quotas on the nodes of flavors. Flavors are tried in this order."),
        json_schema_extra={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    )
    flavor_fungibility: FlavorFungibility | None = Field(
        default=None,
        description=("Rules to stop the search for a flavor before all flavors were tried."),
    )
    borrowing: Borrowing | None = Field(
        default=None,
        description=("Whether the queue may use idle quota of other queues. Absent: no."),
    )
    preemption: QueuePreemption | None = Field(
        default=None, description=("Rules for evictions: which gangs may evict which other gangs.")
    )
    admission_control: AdmissionControl | None = Field(
        default=None, description=("Limits for gangs that hold even if enough resources are free.")
    )
    strategy: Strategy | None = Field(
        default=None,
        description=(
            "Whether gangs may start while an earlier gang of the queue does not fit: "
            "BestEffortFIFO. With StrictFIFO they wait for it."
        ),
    )
    stop_policy: StopPolicy | None = Field(
        default=None,
        description=(
            "None: gangs start. Hold: no more gangs start. HoldAndDrain: no more gangs start, and "
            "running gangs are evicted."
        ),
    )
    namespace_selector: NamespaceSelector | None = Field(
        default=None,
        description=(
            "The namespaces that may use the queue. Absent: all, unless a setting of the "
            "scheduler allows none."
        ),
    )
    fairness: Fairness | None = Field(
        default=None,
        description=("The order in which queues take turns; only for the queue root. FairShare."),
    )
    aging: Aging | None = Field(
        default=None, description=("The increase of a gang's priority in the queue while it waits.")
    )
    backfill: Backfill | None = Field(
        default=None, description="Promises of a start to gangs that wait for long."
    )
    provisioning_class: Text | None = Field(
        default=None,
        description=(
            "The class of the ProvisioningRequests that buy nodes for gangs of the queue. A gang "
            "gets nodes if it lacks nothing but room."
        ),
    )
    checkpoint_timeout: Duration | None = Field(
        default=None,
        description=(
            "The time that a gang has to save its work when it is asked to, at most a setting of "
            "the scheduler. Absent: the value of the queue above, or else 30s."
        ),
    )


# Rules of the whole object, because a rule of the spec cannot see the name.
NAME_RULES: Final = (
    {
        "rule": "self.metadata.name != 'none'",
        "message": "the name none is reserved for gangs that name no queue",
    },
    {
        "rule": "self.metadata.name == 'root' || !has(self.spec) || !has(self.spec.fairness)",
        "message": "fairness may be set only in the Queue named root",
    },
    {
        "rule": "self.metadata.name != 'root' || !has(self.spec) || !has(self.spec.parent)",
        "message": "parent must be absent in the Queue named root",
    },
)
ONE_WAY: Final[dict[str, Any]] = {
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.quota) || !has(self.flavors)",
            "message": "quota must be absent where there are flavors",
        }
    ]
}


class Queue(CustomResource):
    """A part of the cluster that gangs use together: promised, lent and borrowed."""

    GROUP: ClassVar[str] = "py-gang-scheduler.io"
    PLURAL: ClassVar[str] = "queues"

    api_version: Text = Field(
        default="py-gang-scheduler.io/v1alpha1",
        description="The group and version that the object is written in.",
    )
    kind: Text = Field(default="Queue", description="The kind of the object: Queue.")
    spec: QueueSpec = Field(
        default=QueueSpec(),
        description="The promises to the queue, and the rules for using it.",
        json_schema_extra=ONE_WAY,
    )
    status: QueueStatus = Field(
        default=QueueStatus(), description="The state of the queue. Written by the scheduler."
    )
