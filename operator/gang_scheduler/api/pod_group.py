"""PodGroup: a gang of pods of one namespace that start together or not at all."""

import datetime as dt
import enum
import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

from annotated_types import Le
from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    Strict,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from gang_scheduler.model.api_words import CheckpointOutcome, EvictionReason

# Base models, conditions and field types that all our kinds share. The pydantic types decide two
# things: which objects `parsing` accepts, and which schema `crds` writes into the CRD.

# The rule of Kubernetes for a quantity, as its own generators write it into CRDs.
QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
REASON_PATTERN: Final = r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


@dataclass(frozen=True)
class IntegerFormat:
    """Marks an integer's width in the schema, which implies its greatest value."""

    name: str

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the schema with `format` in place of `maximum`."""
        made = {**handler(schema), "format": self.name}
        made.pop("maximum", None)
        return made


class OneOf:
    """Limits the words that a field accepts: other words of the enum are refused like any text."""

    def __init__(self, *words: enum.StrEnum) -> None:
        self.words: Final = words

    def __get_pydantic_core_schema__(
        self,
        source: Any,  # noqa: ANN401 - the signature is pydantic's
        _handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Return the schema of the enum restricted to these words."""
        # pydantic would look up a word outside of the list in the enum itself, which may have it.
        known = core_schema.enum_schema(source, list(self.words), sub_type="str")
        return core_schema.no_info_before_validator_function(self._checked, known)

    def _checked(self, value: object) -> object:
        if value not in self.words:
            *others, last = (repr(each.value) for each in self.words)
            expected = f"{', '.join(others)} or {last}"
            raise PydanticKnownError("enum", {"expected": expected})
        return value


def _quantity(value: object) -> int | str:
    """Return the value if it is a quantity, as it was written."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(QUANTITY_PATTERN, value):
        return value
    raise PydanticCustomError("quantity", 'must be a quantity such as 4 or "16Gi"')


def _to_seconds(time: dt.datetime) -> str:
    """Return the time in UTC as Kubernetes writes it, which has no fractions of a second."""
    return time.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


Int32 = Annotated[int, Strict(), Le(2**31 - 1), IntegerFormat("int32")]
Int64 = Annotated[int, Strict(), Le(2**63 - 1), IntegerFormat("int64")]
Text = Annotated[str, Strict()]
Time = Annotated[AwareDatetime, PlainSerializer(_to_seconds, when_used="json")]
Quantity = Annotated[
    int | str,
    PlainValidator(_quantity),
    WithJsonSchema({"x-kubernetes-int-or-string": True, "pattern": QUANTITY_PATTERN}),
]


class ApiModel(BaseModel):
    """Frozen, camelCase outside and snake_case inside; unknown fields are ignored."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="ignore",
        # Most processes use only a few kinds, and each model takes a while to make.
        defer_build=True,
    )

    def manifest(self) -> dict[str, Any]:
        """Return the JSON values for the API server, without unset fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class ConditionStatus(enum.StrEnum):
    """Whether a condition is true."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class Condition(ApiModel):
    """One fact about an object, with the reason for it."""

    type: Text = Field(
        max_length=316, description=("The type of the condition, in CamelCase; unique in its list.")
    )
    status: ConditionStatus = Field(
        description="Whether the condition holds: True, False or Unknown."
    )
    observed_generation: Int64 | None = Field(
        default=None,
        ge=0,
        description=("The metadata.generation of the object for which the condition was written."),
    )
    last_transition_time: Time = Field(description="When the status last changed.")
    reason: Text = Field(
        min_length=1,
        max_length=1024,
        pattern=REASON_PATTERN,
        description=("The reason as one word in CamelCase, on which programs may rely."),
    )
    message: Text = Field(max_length=32768, description="The reason in a sentence for people.")


# How the API server merges a list of conditions: one entry for each type.
CONDITIONS_BY_TYPE: Final[dict[str, Any]] = {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}
# A list that is replaced as a whole.
ATOMIC_LIST: Final[dict[str, Any]] = {"x-kubernetes-list-type": "atomic"}


class CustomResource(ApiModel):
    """An object of ours. Subclasses add `spec` and `status`."""

    GROUP: ClassVar[str]
    VERSION: ClassVar[str] = "v1alpha1"
    PLURAL: ClassVar[str]

    api_version: Text = Field(description="The group and version that the object is written in.")
    kind: Text = Field(description="The kind of the object.")
    metadata: dict[str, Any] = Field(
        default_factory=dict, description="Standard object metadata, as the API server checks it."
    )


MOST_CHECKPOINTS: Final = 64
LONGEST_PATH: Final = 1024
LONGEST_REQUEST_ID: Final = 64
MOST_YIELDED_TO: Final = 64
"""At most this many preemptors of a gang are remembered: the last ones."""


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
    """The needs of the gang."""

    min_member: Int32 = Field(
        ge=1,
        description=(
            "The number of members that must find a place together. The gang never starts with "
            "fewer. With roles in the annotation py-gang-scheduler.io/roles, it is the sum of the "
            "minima of the roles."
        ),
        json_schema_extra={
            "x-kubernetes-validations": [
                {"rule": "self >= 1", "message": "minMember must be at least 1"}
            ]
        },
    )
    min_resources: dict[str, Quantity] | None = Field(
        default=None,
        description=(
            "The gang is not tried while the cluster has fewer resources than these. Free "
            "resources count, and resources of pods that the gang may preempt."
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
    """The place of a gang among the waiting gangs of its queue."""

    name: Text = Field(default="", description="The queue to which the gang is charged.")
    position: Int32 = Field(
        default=0,
        ge=0,
        description=(
            "The place of the gang in the order of turns: 1 is next. 0: the gang does not wait, "
            "or is not among the first 100."
        ),
    )
    pending: Int32 = Field(
        default=0,
        ge=0,
        description=("The number of gangs that wait in the queue; 0 if position is 0."),
    )
    reason: Text = Field(
        default="", description="The reason why the gang waits; empty if it does not wait."
    )
    estimated_start: Time | None = Field(
        default=None,
        description=(
            "The latest start of the gang, if it is promised a start and the time is known."
        ),
    )


class PodGroupBackfill(ApiModel):
    """The gang before which this gang was started, and the end of that permission."""

    until: Time = Field(description="The declared end of its last member.")
    for_: Text = Field(
        alias="for", description="The gang that was promised a start, as namespace/name."
    )


class ScaleReason(enum.StrEnum):
    """Why an elastic gang has another size."""

    STARTED = "Started"
    ROOM_FREE = "RoomFree"
    PREEMPTED = "Preempted"


class PodGroupElastic(ApiModel):
    """How many workers an elastic gang has, and when the number last changed."""

    min: Int32 = Field(default=1, ge=1, description="The fewest workers: minWorkers.")
    now: Int32 = Field(default=0, ge=0, description="Workers that have a node.")
    max: Int32 = Field(default=1, ge=1, description="The most workers: maxWorkers.")
    last_scale_time: Time | None = Field(
        default=None,
        description=("The time when the scheduler last started the gang, or changed its size."),
    )
    last_scale: Int32 | None = Field(
        default=None,
        description=("The change of the number of workers; less than 0 if the gang shrank."),
    )
    reason: ScaleReason | None = Field(
        default=None,
        description=(
            "The reason of the last change: the gang started, there was room for more workers, or "
            "a gang with a stronger right took some. Absent if a scheduler that was restarted "
            "does not know."
        ),
    )
    next_allowed: Time | None = Field(
        default=None,
        description=("The time when the gang may grow again. Absent without a scaleUpCooldown."),
    )


class YieldedTo(ApiModel):
    """A gang for which this one was evicted.

    It must not be evicted in turn for this one, except by a stronger right.
    """

    by: Text = Field(
        max_length=512,
        description=(
            "The gang, as namespace/name. If names of other namespaces are hidden: the uid of its "
            "object."
        ),
    )
    uid: Text | None = Field(
        default=None,
        max_length=253,
        description=(
            "The uid of the object that describes the gang. Absent: no object describes it."
        ),
    )
    eviction_class: EvictionReason = Field(
        alias="class", description="The right by which the gang was evicted."
    )
    at: Time | None = Field(default=None, description="The time of the eviction.")
    edition: Text | None = Field(
        default=None,
        max_length=64,
        description=(
            "A digest of both gangs and their queues at the time of the eviction. The entry no "
            "longer counts once one of them has changed."
        ),
    )


class PodGroupEvictions(ApiModel):
    """How often the gang was evicted, and for which gangs."""

    count: Int32 = Field(default=0, ge=0, description="The number of evictions of the gang.")
    last: Time | None = Field(default=None, description="The time of the last eviction.")
    yielded_to: tuple[YieldedTo, ...] = Field(
        default=(),
        max_length=MOST_YIELDED_TO,
        description=(
            "The gangs for which this gang was evicted, the latest one last. An entry is kept "
            "until one of the two gangs or their queues changes, and at most for the time of the "
            "setting yieldMemorySeconds."
        ),
        json_schema_extra=ATOMIC_LIST,
    )


class PodGroupSave(ApiModel):
    """Work that the gang has saved: its place and its step, not the data."""

    done_at: Time = Field(description="The time of the save, as the gang reports it.")
    step: Int64 | None = Field(default=None, ge=0, description="The training step that was saved.")
    path: Text | None = Field(
        default=None, max_length=LONGEST_PATH, description="Where the checkpoint is."
    )
    request_id: Text | None = Field(
        default=None,
        max_length=LONGEST_REQUEST_ID,
        description=("The request that the save answers. Absent: the gang was not asked."),
    )
    workload_uid: Text | None = Field(
        default=None,
        max_length=LONGEST_REQUEST_ID,
        description=(
            "The uid of the workload whose pods saved the checkpoint. Absent: the uid is not known."
        ),
    )


class PodGroupCheckpoint(ApiModel):
    """The last checkpoint of the gang, and the last request to save its work."""

    request_id: Text | None = Field(
        default=None, max_length=LONGEST_REQUEST_ID, description="The id of the last request."
    )
    requested_at: Time | None = Field(default=None, description="The time of the last request.")
    outcome: CheckpointOutcome | None = Field(
        default=None, description="The result of the request. Absent: the gang still has time."
    )
    done_at: Time | None = Field(
        default=None,
        description=("The time when the gang last saved its work, with or without a request."),
    )
    step: Int64 | None = Field(default=None, ge=0, description="The training step that was saved.")
    path: Text | None = Field(
        default=None, max_length=LONGEST_PATH, description="Where the checkpoint is."
    )
    workload_uid: Text | None = Field(
        default=None,
        max_length=LONGEST_REQUEST_ID,
        description=(
            "The uid of the workload whose pods saved the checkpoint. Absent: the uid is not known."
        ),
    )
    resume_count: Int32 | None = Field(
        default=None,
        ge=0,
        description=("The number of times that the gang started again from a checkpoint."),
    )


class PodGroupStatus(ApiModel):
    """The state of the gang. Written by the scheduler."""

    phase: Phase | None = Field(default=None, description="The phase of the gang.")
    members: Int32 = Field(
        default=0, ge=0, description="The number of pods that belong to the gang now."
    )
    scheduled: Int32 = Field(default=0, ge=0, description="The number of members that have a node.")
    running: Int32 = Field(default=0, ge=0, description="The number of members that run.")
    succeeded: Int32 = Field(default=0, ge=0, description="The number of members that succeeded.")
    failed: Int32 = Field(default=0, ge=0, description="The number of members that failed.")
    domain: Text | None = Field(
        default=None,
        description=(
            "The lowest topology domain that holds all members with a node: its layer, and the "
            "names from the top down, as in BlockLayer/spine-1/block-2."
        ),
    )
    queue: PodGroupQueue | None = Field(
        default=None, description="The queue of the gang. Absent if there are no queues."
    )
    backfill: PodGroupBackfill | None = Field(
        default=None,
        description=(
            "Set while the gang runs that was started before another gang because it declared its "
            "end. After the declared end, the other gang may evict it."
        ),
    )
    elastic: PodGroupElastic | None = Field(
        default=None,
        description=(
            "The workers of an elastic gang, which declares how it grows and shrinks. Absent for "
            "other gangs."
        ),
    )
    occupied_by: Text | None = Field(
        default=None, description="The owner of the gang's pods, as namespace/name."
    )
    schedule_start_time: Time | None = Field(
        default=None, description="When minMember members existed for the first time."
    )
    checkpoint: PodGroupCheckpoint | None = Field(
        default=None, description="The last checkpoint of the gang. Absent: it reported none."
    )
    checkpoints: tuple[PodGroupSave, ...] = Field(
        default=(),
        max_length=MOST_CHECKPOINTS,
        description="The last checkpoints of the gang, the newest first.",
        json_schema_extra=ATOMIC_LIST,
    )
    evictions: PodGroupEvictions | None = Field(
        default=None,
        description=("The evictions of the gang for other gangs, by the rules of queues."),
    )
    conditions: tuple[Condition, ...] = Field(
        default=(),
        description="Conditions of the gang, one for each type.",
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
    spec: PodGroupSpec = Field(description="The needs of the gang.")
    status: PodGroupStatus = Field(
        default=PodGroupStatus(), description="The state of the gang. Written by the scheduler."
    )
