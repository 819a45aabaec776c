"""TrainingJob: the input of `submit` and of the SDK. It is never an object in the cluster.

Little but pydantic is imported here, so that scripts and notebooks start quickly.
"""

import enum
import re
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator
from pydantic import model_validator as checks
from pydantic.alias_generators import to_camel

from gang_scheduler.model.api_words import ManagedKind

NAME: Final = r"^[a-z]([-a-z0-9]*[a-z0-9])?$"
LONGEST_NAME: Final = 52
"""Names are shorter than 63 letters, since a host name is the name with a member's index."""
_NODES: Final = re.compile(r"([1-9][0-9]{0,5})(?:[:-]([1-9][0-9]{0,5}))?")

Name = Annotated[str, StringConstraints(pattern=NAME, max_length=LONGEST_NAME)]
JobType = ManagedKind
JOB_TYPES: Final = (
    *(JobType.JOB, JobType.JOB_SET, JobType.PYTORCH_JOB, JobType.TF_JOB, JobType.XGBOOST_JOB),
    *(JobType.PADDLE_JOB, JobType.MPI_JOB, JobType.JAX_JOB),
)
"""The kinds of objects that a job may become."""
Words = tuple[str, ...]
Source = dict[str, Any]


class PreemptionPolicy(enum.StrEnum):
    """Which gangs the job may evict."""

    NEVER = "Never"
    PREEMPT_LOWER = "PreemptLower"


class Part(BaseModel):
    """A part of a TrainingJob: frozen, camelCase in files; unknown fields are refused."""

    model_config = ConfigDict(
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        extra="forbid",
        defer_build=True,
    )


class Resources(Part):
    """The requests of each member; the limits are the same."""

    gpu: int = Field(default=0, ge=0, le=1024, description="GPUs of a member.")
    cpu: str | int | None = Field(default=None, description='CPUs of a member, such as "32".')
    memory: str | int | None = Field(default=None, description="Memory of a member: 256Gi.")

    @field_validator("cpu", "memory")
    @classmethod
    def _is_quantity(cls, value: str | int | None) -> str | int | None:
        return value if value is None else quantity(value)


class ScalePolicy(Part):
    """The pace at which an elastic job grows and shrinks."""

    scale_up_cooldown: str | None = None
    scale_down_cooldown: str | None = None
    scale_up_step: int | None = Field(default=None, ge=1)
    scale_down_step: int | None = Field(default=None, ge=1)


class Elastic(Part):
    """How an elastic job grows and shrinks between the bounds in `nodes`."""

    scale_policy: ScalePolicy = ScalePolicy()


class Checkpoint(Part):
    """How the job saves its work before it is evicted."""

    mode: Literal["Signal", "Annotation", "HTTP"] = "Signal"
    timeout: str | None = Field(default=None, description="How long saving may take: 5m.")
    port: int | None = Field(default=None, ge=1024, le=65535)
    path: str | None = None

    @field_validator("timeout")
    @classmethod
    def _is_duration(cls, value: str | None) -> str | None:
        return duration(value)

    @checks(mode="after")
    def _has_what_http_needs(self) -> Self:
        if self.mode == "HTTP" and self.port is None:
            raise ValueError("port is required with mode HTTP")
        return self


class Volume(Part):
    """A volume of the members, and where it is mounted. It has one source, as in a pod."""

    name: Name
    mount_path: str
    sub_path: str | None = None
    read_only: bool = False
    persistent_volume_claim: Source | None = None
    empty_dir: Source | None = None
    host_path: Source | None = None
    config_map: Source | None = None
    secret: Source | None = None
    nfs: Source | None = None
    csi: Source | None = None

    @property
    def sources(self) -> dict[str, Source]:
        """The sources that are set, by their names in a pod."""
        of_mount = {"name", "mountPath", "subPath", "readOnly"}
        found = self.model_dump(by_alias=True, exclude_none=True)
        return {key: each for key, each in found.items() if key not in of_mount}

    @field_validator("mount_path")
    @classmethod
    def _is_absolute(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError("must be a path from / on")
        return value

    @checks(mode="after")
    def _has_one_source(self) -> Self:
        if len(self.sources) != 1:
            raise ValueError("must have one source, such as persistentVolumeClaim")
        return self


class Role(Part):
    """The members of one role. Fields that are left out have the values of the job."""

    name: Name
    nodes: int = Field(default=1, ge=1, le=100_000)
    image: str | None = None
    command: Words | None = None
    args: Words | None = None
    resources: Resources | None = None
    env: dict[str, str] = {}


class Script(Part):
    """A batch script that each member runs, its arguments, and the Slurm options to leave out."""

    text: str
    arguments: Words = ()
    ignored: Words = ()


class TrainingJob(Part):
    """A training job: its program, how many members of what size, and how it is scheduled.

    `nodes` is a number, or "2:8" for an elastic job with 2 to 8 members. `must` and `prefer` are
    layers of the network, or keys of node labels. Durations are like "90s", "12h" or "1h30m".
    """

    name: Name
    namespace: str = ""
    job_type: JobType = JobType.JOB
    image: str = ""
    command: Words = ()
    args: Words = ()
    script: Script | None = None
    nodes: int | str = 1
    resources: Resources = Resources()
    gpu_resource: str = "nvidia.com/gpu"
    gpu_type: str = ""
    must: str = ""
    prefer: str = ""
    queue: str = ""
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: PreemptionPolicy | None = None
    gang_scheduling: bool = True
    max_wait_time: str | None = None
    time: str | None = None
    expected_duration: str | None = None
    elastic: Elastic | None = None
    roles: tuple[Role, ...] = ()
    env: dict[str, str] = {}
    volumes: tuple[Volume, ...] = ()
    checkpoint: Checkpoint | None = None
    template: Source = {}
    user: str = ""

    @field_validator("job_type")
    @classmethod
    def _is_made(cls, value: JobType) -> JobType:
        if value not in JOB_TYPES:
            raise ValueError(f"must be one of {', '.join(JOB_TYPES)}")
        return value

    @field_validator("nodes")
    @classmethod
    def _is_number_of_nodes(cls, value: int | str) -> int | str:
        found = _NODES.fullmatch(str(value))
        if found is None or (found[2] and int(found[2]) < int(found[1])):
            raise ValueError('must be a number from 1, or a range such as "2:8"')
        return value

    @field_validator("max_wait_time", "time", "expected_duration")
    @classmethod
    def _is_duration(cls, value: str | None) -> str | None:
        return duration(value)

    @field_validator("preemption_policy", mode="before")
    @classmethod
    def _evicts_no_equal(cls, value: object) -> object:
        if value == "PreemptAlways":
            raise ValueError("PreemptAlways is not supported: no gang is evicted by an equal")
        return value

    @checks(mode="after")
    def _fits_together(self) -> Self:
        for wrong, text in (
            (self.must and self.prefer, "must and prefer: give one of them"),
            (self.priority is not None and self.priority_class, _TWO_PRIORITIES),
            (self.roles and self.nodes != 1, "roles: each has its own nodes, so leave out nodes"),
            (self.roles and self.is_elastic, "roles: an elastic job has one role"),
            (self.elastic is not None and not self.is_elastic, _NOT_ELASTIC),
            (self.is_elastic and not self.gang_scheduling, _NO_GANG),
            ((self.must or self.prefer) and not self.gang_scheduling, _NO_PLACE),
            (self.job_type is JobType.JOB and len(self.roles) > 1, _ONE_ROLE),
            (self.job_type is JobType.JOB_SET and not self.roles, "jobType JobSet needs roles"),
            (self.script is not None and self.job_type is not JobType.JOB, _SCRIPT),
            (self.script is not None and (self.command or self.args), _COMMAND),
            (len({each.name for each in self.roles}) < len(self.roles), "roles: names differ"),
        ):
            if wrong:
                raise ValueError(text)
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number of members."""
        if self.roles:
            whole = sum(each.nodes for each in self.roles)
            return whole, whole
        least, _, most = str(self.nodes).replace("-", ":").partition(":")
        return int(least), int(most or least)

    @property
    def is_elastic(self) -> bool:
        """Whether the number of members may change."""
        least, most = self.bounds
        return least != most


_TWO_PRIORITIES: Final = "priority and priorityClass: give one of them"
_NOT_ELASTIC: Final = "elastic: nodes must be a range, such as 2:8"
_NO_GANG: Final = "gangScheduling: false is not possible for an elastic job"
_NO_PLACE: Final = "gangScheduling: false is not possible with must or prefer"
_ONE_ROLE: Final = "roles: a Job has one role; with several, use jobType JobSet"
_SCRIPT: Final = "script: only jobType Job runs one"
_COMMAND: Final = "script: leave out command and args"


def duration(text: str | None) -> str | None:
    """Return a Go duration unchanged. Raises ValueError for any other text."""
    if text is not None:
        seconds_of(text)
    return text


def seconds_of(text: str) -> int:
    """Return a Go duration in whole seconds, rounded up. Raises ValueError."""
    from gang_scheduler.decode import fields  # noqa: PLC0415 - scripts without durations need none.

    try:
        return fields.seconds(text, "")
    except ValueError as error:
        raise ValueError('must be a duration such as "90s" or "12h"') from error


def quantity(value: str | int) -> str | int:
    """Return a quantity unchanged. Raises ValueError for any other text."""
    from gang_scheduler.model.resources import parse_quantity  # noqa: PLC0415 - as `seconds_of`.

    try:
        known = parse_quantity(str(value)) >= 0
    except ValueError:
        known = False
    if not known:
        raise ValueError('must be a quantity such as "32" or "256Gi"')
    return value
