"""What gangs of a Queue must keep to, and which may be evicted for which."""

from typing import Any, Final

from pydantic import ConfigDict, Field

from gang_scheduler.api.meta import ATOMIC_LIST, ApiModel, Int32, Text
from gang_scheduler.api.queues.values import (
    MOST_EXPRESSIONS,
    Duration,
    Flag,
    Name,
    Names,
    Reclaim,
    SelectorOperator,
    WhileBorrowing,
    WithinQueue,
)


class BorrowingEviction(ApiModel):
    """Which gangs a gang may evict that borrows."""

    policy: WhileBorrowing | None = Field(default=None, description="Never or LowerPriority.")
    max_priority_threshold: Int32 | None = Field(
        default=None, description="The highest priority of gangs that may be evicted so."
    )


class QueuePreemption(ApiModel):
    """Which gangs may be evicted for which."""

    within_queue: WithinQueue | None = Field(
        default=None,
        description="Which gangs of its own queue a gang may evict: LowerPriority.",
    )
    reclaim: Reclaim | None = Field(
        default=None,
        description=(
            "Which gangs of queues that borrow a gang may evict that stays within soft: Any. With "
            "any other value what is free of soft is kept for a gang of the queue that waits."
        ),
    )
    while_borrowing: BorrowingEviction | None = Field(
        default=None,
        description="What a gang may evict that borrows, where fairness is Priority.",
    )
    allow_preemption: Flag | None = Field(
        default=None,
        description="Whether gangs of other queues may evict from this one.",
    )
    allow_preempt_from: Names | None = Field(
        default=None,
        description=(
            "The only queues, with those below them, whose gangs may evict from this one."
        ),
        json_schema_extra=ATOMIC_LIST,
    )
    grace_period: Duration | None = Field(
        default=None,
        description=(
            "The least time that pods of the queue get to end, where their own grace period is "
            "shorter; up to a setting of the scheduler. Absent: what the queue above says."
        ),
    )
    fence: Flag | None = Field(
        default=None, description="Whether gangs look for victims below this queue only."
    )
    min_runtime: Duration | None = Field(
        default=None, description="How long gangs run before they may be evicted."
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
    """What gangs must keep to, whatever is free."""

    max_jobs: Int32 | None = Field(
        default=None, ge=0, description="How many gangs may run at once; the others wait."
    )
    max_gpus_per_job: Int32 | None = Field(
        default=None,
        ge=0,
        alias="maxGPUsPerJob",
        description="How many GPUs all members of a gang may have together.",
    )
    priority_range: PriorityRange | None = Field(
        default=None,
        description="Which priority gangs may have.",
        json_schema_extra=PRIORITY_RULES,
    )


class Aging(ApiModel):
    """How waiting raises the priority by which gangs are ordered."""

    per_hour: Int32 | None = Field(default=None, ge=0, description="How much an hour adds.")
    max: Int32 | None = Field(default=None, ge=0, description="The most that is added.")


class Backfill(ApiModel):
    """Whether gangs that wait for long are promised a start."""

    enabled: Flag | None = Field(
        default=None,
        description=(
            "Whether a gang that waits for long is promised a start, while others are let pass "
            "that do not delay it. true."
        ),
    )
    reservation_after: Duration | None = Field(
        default=None,
        description="After how long a wait; the default is a setting of the scheduler.",
    )


class SelectorExpression(ApiModel):
    """What a label must be like."""

    # Values that do not go with the operator are refused where selectors of all kinds are read.
    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": (
                        "(self.operator in ['In', 'NotIn'])"
                        " == (has(self.values) && self.values.size() > 0)"
                    ),
                    "message": "values must be there with In and NotIn, and with nothing else",
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
        description="What labels of namespaces must be like.",
        json_schema_extra=ATOMIC_LIST,
    )
