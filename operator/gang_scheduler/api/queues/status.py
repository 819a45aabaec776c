"""What became of a Queue."""

from typing import Final

from pydantic import Field

from gang_scheduler.api.meta import (
    CONDITIONS_BY_TYPE,
    ApiModel,
    Condition,
    Int32,
    Quantity,
    Text,
    Time,
)

AmountsByFlavor = dict[Text, dict[Text, Quantity]]
BY_FLAVOR: Final = "by flavor and resource."


class QueueSummary(ApiModel):
    """The figures of one resource of a queue on all nodes, for the columns of kubectl."""

    resource: Text | None = Field(
        default=None, description="Which one: gpu where it has some, else cpu, else another."
    )
    nominal: Quantity = Field(default=0, description="What is promised.")
    used: Quantity = Field(default=0, description="What is used.")
    borrowed: Quantity = Field(default=0, description="What is used of others.")
    lent: Quantity = Field(default=0, description="What others use.")


class RecentUsage(ApiModel):
    """The decaying average of what the queue used."""

    at: Time = Field(description="When it was so.")
    amounts: dict[Text, Quantity] = Field(default={}, description="Amounts of resources.")


class QueueStatus(ApiModel):
    """What became of the queue. Written by the scheduler."""

    nominal: AmountsByFlavor | None = Field(
        default=None, description=f"What is promised to it and to those below, {BY_FLAVOR}"
    )
    used: AmountsByFlavor | None = Field(
        default=None, description=f"What it and those below use, {BY_FLAVOR}"
    )
    borrowed: AmountsByFlavor | None = Field(
        default=None, description=f"What it uses above its own, {BY_FLAVOR}"
    )
    lent: AmountsByFlavor | None = Field(
        default=None, description=f"What others use of its own, {BY_FLAVOR}"
    )
    fair_share: AmountsByFlavor | None = Field(
        default=None, description=f"What it should have, by demand and quotas, {BY_FLAVOR}"
    )
    summary: QueueSummary | None = Field(
        default=None,
        description="One resource among these in all flavors together: gpu, where it has some.",
    )
    share: Text | None = Field(
        default=None, description="The figure by which queues are compared; none: infinite."
    )
    pending_jobs: Int32 = Field(default=0, ge=0, description="Gangs that wait.")
    running_jobs: Int32 = Field(default=0, ge=0, description="Gangs that hold quota.")
    recent_usage: RecentUsage | None = Field(
        default=None, description="The decaying average of what it used."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Whether the queue is active, and what to know about it.",
        json_schema_extra=CONDITIONS_BY_TYPE,
    )
