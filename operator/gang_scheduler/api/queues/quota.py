"""How much a Queue is promised, in all and of each flavor, and what it borrows."""

from typing import Any, Final

from pydantic import Field

from gang_scheduler.api.meta import ATOMIC_LIST, ApiModel
from gang_scheduler.api.queues.values import (
    Amounts,
    Flag,
    Name,
    Names,
    Number,
    Preference,
    WhenBorrowing,
)


def _no_more(least: str, most: str) -> dict[str, str]:
    """Return the rule that amounts of one field are no more than those of another."""
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
            "What the queue is promised; of a queue with queues below, all that is promised to "
            "these and in common. Absent: hard, else guaranteed, else nothing."
        ),
    )
    hard: Amounts | None = Field(
        default=None,
        description="What the queue and those below may use at most, lent or their own.",
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
    """When the search for a flavor ends before all were tried."""

    when_can_borrow: WhenBorrowing | None = Field(
        default=None,
        description="Whether a flavor is taken in which the gang borrows: MayStopSearch.",
    )
    when_can_preempt: WhenBorrowing | None = Field(
        default=None,
        description="Whether a flavor is taken in which the gang evicts: TryNextFlavor.",
    )
    preference: Preference | None = Field(
        default=None,
        description="What is better when all flavors were tried: BorrowingOverPreemption.",
    )


class Borrowing(ApiModel):
    """How much of what others do not use the queue may use."""

    enabled: Flag = Field(default=False, description="Whether the queue may borrow.")
    max_borrow_ratio: Number | None = Field(
        default=None,
        ge=0,
        description="How far above soft it may go, as a part of soft. Absent: as far as hard.",
    )
    allowed_queues: Names | None = Field(
        default=None,
        description="The only queues, with those below them, that it may borrow from.",
        json_schema_extra=ATOMIC_LIST,
    )
