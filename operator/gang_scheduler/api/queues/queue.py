"""Queue: how much of the cluster its gangs may use, and what it lends and borrows.

What one field alone says is checked here and by the API server, and so is the order of the quotas
of one queue. What depends on other queues is not: such an object must be stored, so that its
condition can say what is wrong.
"""

from typing import Any, ClassVar, Final

from pydantic import Field

from gang_scheduler.api.meta import ApiModel, CustomResource, Text
from gang_scheduler.api.queues.quota import (
    QUOTA_RULES,
    Borrowing,
    FlavorFungibility,
    FlavorQuota,
    QueueQuota,
)
from gang_scheduler.api.queues.rules import (
    AdmissionControl,
    Aging,
    Backfill,
    NamespaceSelector,
    QueuePreemption,
)
from gang_scheduler.api.queues.status import QueueStatus
from gang_scheduler.api.queues.values import (
    MOST_FLAVORS,
    Duration,
    Fairness,
    Name,
    Number,
    StopPolicy,
    Strategy,
)


class QueueSpec(ApiModel):
    """What the queue is promised, and how it is used."""

    parent: Name | None = Field(
        default=None, description="The queue above. Absent: root, which needs no object."
    )
    # Not checked here: a queue with a weight that makes no sense is read, and inactive.
    weight: Number | None = Field(
        default=None,
        description=(
            "Which part the queue gets of what no queue was promised: 1. 0: only what is left."
        ),
        json_schema_extra={"minimum": 0},
    )
    quota: QueueQuota | None = Field(
        default=None,
        description="Amounts of resources on all nodes. Absent where there are flavors.",
        json_schema_extra=QUOTA_RULES,
    )
    flavors: tuple[FlavorQuota, ...] | None = Field(
        default=None,
        max_length=MOST_FLAVORS,
        description="Quotas on the nodes of flavors, in the order in which these are tried.",
        json_schema_extra={
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    )
    flavor_fungibility: FlavorFungibility | None = Field(
        default=None, description="When the search for a flavor ends before all were tried."
    )
    borrowing: Borrowing | None = Field(
        default=None, description="Whether the queue may use what others leave. Absent: no."
    )
    preemption: QueuePreemption | None = Field(
        default=None, description="Which gangs may be evicted for which."
    )
    admission_control: AdmissionControl | None = Field(
        default=None, description="What gangs must keep to, whatever is free."
    )
    strategy: Strategy | None = Field(
        default=None,
        description=(
            "Whether gangs go on behind one that does not fit: BestEffortFIFO, or with StrictFIFO "
            "they wait."
        ),
    )
    stop_policy: StopPolicy | None = Field(
        default=None,
        description=(
            "None; Hold: no more gangs start; HoldAndDrain: the same, and running ones are evicted."
        ),
    )
    namespace_selector: NamespaceSelector | None = Field(
        default=None,
        description=(
            "Which namespaces may use the queue. Absent: all, unless a setting of the scheduler "
            "says none."
        ),
    )
    fairness: Fairness | None = Field(
        default=None, description="Of root alone: in which order queues take turns. FairShare."
    )
    aging: Aging | None = Field(
        default=None, description="How waiting raises the priority by which gangs are ordered."
    )
    backfill: Backfill | None = Field(
        default=None, description="Whether gangs that wait for long are promised a start."
    )
    provisioning_class: Text | None = Field(
        default=None,
        description=(
            "The class of the ProvisioningRequests by which nodes are bought for its gangs that "
            "lack nothing but room."
        ),
    )
    checkpoint_timeout: Duration | None = Field(
        default=None,
        description=(
            "How long a gang may take to save its work when it is asked to, up to a setting of the "
            "scheduler. Absent: what the queue above says, or else 30s."
        ),
    )


# Of the whole object: a rule of the spec cannot see the name.
NAME_RULES: Final = (
    {
        "rule": "self.metadata.name != 'none'",
        "message": "the name none is reserved for gangs that name no queue",
    },
    {
        "rule": "self.metadata.name == 'root' || !has(self.spec) || !has(self.spec.fairness)",
        "message": "fairness must be absent of all but root",
    },
    {
        "rule": "self.metadata.name != 'root' || !has(self.spec) || !has(self.spec.parent)",
        "message": "parent must be absent of root",
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
        description="What the queue is promised, and how it is used.",
        json_schema_extra=ONE_WAY,
    )
    status: QueueStatus = Field(
        default=QueueStatus(), description="What became of the queue. Written by the scheduler."
    )
