"""PodGroup: a gang of pods of one namespace that start together or not at all."""

import enum
from typing import ClassVar

from pydantic import Field

from gang_scheduler.api.meta import (
    CONDITIONS_BY_TYPE,
    ApiModel,
    Condition,
    CustomResource,
    Int32,
    Quantity,
    Text,
    Time,
)


class Phase(enum.StrEnum):
    """How far a gang has come."""

    PENDING = "Pending"
    PRE_SCHEDULING = "PreScheduling"
    SCHEDULING = "Scheduling"
    SCHEDULED = "Scheduled"
    RUNNING = "Running"
    FINISHED = "Finished"
    FAILED = "Failed"


class PodGroupSpec(ApiModel):
    """What the gang needs."""

    min_member: Int32 = Field(
        ge=1,
        description="How many members must find a place together. Fewer are never started.",
        json_schema_extra={
            "x-kubernetes-validations": [
                {"rule": "self >= 1", "message": "minMember must be at least 1"}
            ]
        },
    )
    min_resources: dict[str, Quantity] | None = Field(
        default=None,
        description=(
            "The gang is not tried while the cluster has less than this, counting what is free and "
            "what is held by pods that the gang may preempt."
        ),
    )
    schedule_timeout_seconds: Int32 | None = Field(
        default=None,
        ge=0,
        description=(
            "After this time the gang is reported as late. It stays in the queue. The clock starts "
            "when minMember members exist. The default, also for 0, is a setting of the scheduler."
        ),
        json_schema_extra={
            "x-kubernetes-validations": [
                {"rule": "self >= 0", "message": "scheduleTimeoutSeconds must be at least 0"}
            ]
        },
    )


class PodGroupQueue(ApiModel):
    """The place of a gang among those that wait in its queue."""

    name: Text = Field(default="", description="The queue that the gang is charged to.")
    position: Int32 = Field(
        default=0,
        ge=0,
        description=(
            "Its place in the order of turns: 1 is the next. 0: it does not wait, or is not among "
            "the first 100."
        ),
    )
    pending: Int32 = Field(
        default=0, ge=0, description="How many gangs wait in the queue; 0 where position is 0."
    )
    reason: Text = Field(default="", description="Why it waits; empty: it does not.")


class PodGroupStatus(ApiModel):
    """What became of the gang. Written by the scheduler."""

    phase: Phase | None = Field(default=None, description="How far the gang has come.")
    members: Int32 = Field(default=0, ge=0, description="Pods that belong to the gang now.")
    scheduled: Int32 = Field(default=0, ge=0, description="Members that have a node.")
    running: Int32 = Field(default=0, ge=0, description="Members that run.")
    succeeded: Int32 = Field(default=0, ge=0, description="Members that ended well.")
    failed: Int32 = Field(default=0, ge=0, description="Members that ended in failure.")
    domain: Text | None = Field(
        default=None,
        description=(
            "The lowest topology domain that holds all members with a node: its layer, and the "
            "names from the top down, as in BlockLayer/spine-1/block-2."
        ),
    )
    queue: PodGroupQueue | None = Field(
        default=None, description="The queue of the gang. Absent where there are no queues."
    )
    occupied_by: Text | None = Field(
        default=None, description="The owner of the gang's pods, as namespace/name."
    )
    schedule_start_time: Time | None = Field(
        default=None, description="When minMember members existed for the first time."
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="What to know about the gang, one entry for each type.",
        json_schema_extra=CONDITIONS_BY_TYPE,
    )


class PodGroup(CustomResource):
    """A gang: pods that start together, close to each other, or not at all."""

    GROUP: ClassVar[str] = "scheduling.sigs.k8s.io"
    PLURAL: ClassVar[str] = "podgroups"

    api_version: Text = Field(
        default="scheduling.sigs.k8s.io/v1alpha1",
        description="The group and version that the object is written in.",
    )
    kind: Text = Field(default="PodGroup", description="The kind of the object: PodGroup.")
    spec: PodGroupSpec = Field(description="What the gang needs.")
    status: PodGroupStatus = Field(
        default=PodGroupStatus(), description="What became of the gang. Written by the scheduler."
    )
