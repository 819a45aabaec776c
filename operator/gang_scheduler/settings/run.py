"""The only module that reads the environment and flags: one frozen Settings."""

import os
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationInfo, field_validator
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from gang_scheduler.model.rules import Name
from gang_scheduler.settings.choices import (
    ENV_PREFIX,
    KUEUE_NAMESPACE,
    VOLCANO_NAMESPACE,
    DegradedGangs,
    HttpClientName,
    LogFormat,
    LogLevel,
    OnPartialGang,
    Shape,
    SourceSetting,
)
from gang_scheduler.settings.policy import Policy, depth_refused

MOST_CHECKPOINTS = 64
"""The CRD of PodGroups accepts this many checkpoints."""


class EvictionSettings(BaseModel):
    """How pods are evicted, and how the scheduler treats gangs that lost members."""

    on_partial_gang: OnPartialGang = Field(
        default=OnPartialGang.HOLD,
        description=(
            "What to do with a gang that a crash left bound in part and whose rest finds no "
            "room until the schedule timeout: Hold keeps the bound members, Release deletes "
            "them."
        ),
    )
    checkpoint_annotations: bool = Field(
        default=False,
        description=(
            "Whether to ask gangs in the checkpoint mode Annotation to save their work before "
            "they are evicted. Without it they are deleted as in the mode Signal."
        ),
    )
    checkpoint_http: bool = Field(
        default=False,
        description=(
            "Whether to ask gangs in the checkpoint mode HTTP to save their work, at the IP "
            "of one of their own pods. Without it they are deleted as in the mode Signal."
        ),
    )
    max_checkpoint_seconds: int = Field(
        default=300,
        ge=1,
        description="The most time that a gang gets to save its work when it is asked to.",
    )
    max_checkpoints: int = Field(
        default=5,
        ge=1,
        le=MOST_CHECKPOINTS,
        description=(
            "How many checkpoints the status of a PodGroup lists. The checkpoint files are "
            "never deleted."
        ),
    )
    degraded_gangs: DegradedGangs = Field(
        default=DegradedGangs.WAIT,
        description=(
            "What to do with a running gang that lost members and whose domain has no room "
            "for their replacements: Wait until it has, or Evict the whole gang after its "
            "schedule timeout, so that it can start elsewhere."
        ),
    )
    force_delete_stuck_pods_seconds: int = Field(
        default=0,
        ge=0,
        description=(
            "How long a pod must be stuck on a failed node before it is deleted by force. "
            "This applies only to gangs with the annotation "
            "py-gang-scheduler.io/force-delete-stuck-pods. 0: never."
        ),
    )
    claim_timeout_seconds: int = Field(
        default=600,
        ge=1,
        description=(
            "How long the room of a gang is reserved while the volume claims of its members "
            "are being bound."
        ),
    )
    device_binding_timeout_seconds: int = Field(
        default=600,
        ge=1,
        description=(
            "How long a gang waits for its devices to be attached, from their allocation on. "
            "After that, all its devices are taken back and others are tried."
        ),
    )


class _Environment(EnvSettingsSource):
    """The environment variables as a source of settings; a value nested too deeply is invalid."""

    def decode_complex_value(self, field_name: str, field: FieldInfo, value: Any) -> Any:  # noqa: ANN401 - as declared there.
        with depth_refused():
            return super().decode_complex_value(field_name, field, value)


class Settings(EvictionSettings, Policy, BaseSettings):
    """Every setting of `run`: field `like_this` is flag `--like-this` and `PGS_LIKE_THIS`."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, frozen=True, extra="forbid")

    if TYPE_CHECKING:

        def __init__(self, **flags: Any) -> None:  # noqa: ANN401 - pydantic checks each.
            """Check the value of each flag, else of each variable. Raises ValidationError."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **__: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources of settings: flags first, then variables."""
        return init_settings, _Environment(settings_cls)

    kueue_namespace: Name = Field(
        default=KUEUE_NAMESPACE,
        description=(
            "The namespace of Kueue's Lease c1f6bfd2.kueue.x-k8s.io, which shows whether its "
            "controller runs."
        ),
    )
    volcano_jobs: bool = Field(
        default=False,
        description=(
            "Whether to let Jobs of Volcano with this scheduler's schedulerName create their "
            "pods: the scheduler writes the phase Inqueue into their PodGroups once their "
            "queue would admit them."
        ),
    )
    volcano_namespace: Name = Field(
        default=VOLCANO_NAMESPACE,
        description="The namespace of the Lease volcano, which shows if Volcano's scheduler runs.",
    )
    bind_concurrency: int = Field(
        default=64, ge=1, le=1024, description="How many bindings may be in flight at once."
    )
    batch_milliseconds: int = Field(
        default=20,
        ge=0,
        description=(
            "How long a cycle waits after the first change so that further changes can join it."
        ),
    )
    status_interval_milliseconds: int = Field(
        default=500,
        ge=50,
        description="The shortest time between two status writes to the same PodGroup.",
    )
    status_concurrency: int = Field(
        default=8,
        ge=1,
        le=256,
        description="How many writes of statuses and Events may be in flight at once.",
    )
    pod_events: bool = Field(
        default=True,
        description=(
            "Whether to write Events on the members of gangs as well: why they wait, and "
            "where they were bound."
        ),
    )
    pod_event_seconds: int = Field(
        default=10,
        ge=0,
        le=3600,
        description="How long a reason must hold before a waiting pod gets an Event about it.",
    )
    source: SourceSetting = Field(
        default=SourceSetting.AUTO,
        description=(
            "What watches the cluster: kopf; reflector, which needs a fraction of the CPU; or "
            "auto, which is kopf in a cluster of fewer than 1,000 nodes and 10,000 pods when the "
            "process starts, and reflector in a larger one."
        ),
    )
    sweep_seconds: int = Field(
        default=300,
        ge=5,
        description=(
            "With the source kopf: how often to list all objects, to notice deletions that "
            "Kopf's watches missed. The reflector misses none."
        ),
    )
    queue_deletion_grace_seconds: int = Field(
        default=10,
        ge=0,
        le=3600,
        description=(
            "How long a queue keeps counting after it was deleted, so that a queue that is "
            "deleted and created again loses no gangs to others."
        ),
    )
    metrics_queues: int = Field(
        default=500,
        ge=0,
        description="How many queues have metrics of their own. The others are summed as _other.",
    )
    gauge_shapes: tuple[Shape, ...] = Field(
        default=("nvidia.com/gpu=8",),
        max_length=4,
        description=(
            "The member sizes for which pgs_largest_gang reports how many fit a domain, at "
            "most four (a JSON list in the environment): RESOURCE=QUANTITY, several separated "
            "by commas."
        ),
    )
    http_client: HttpClientName = Field(
        default=HttpClientName.BUILTIN,
        description=(
            "What sends all requests other than watches: builtin, or aiohttp, which needs "
            "about four times the CPU for each request."
        ),
    )
    http_host: str = Field(
        default="0.0.0.0",  # noqa: S104 - a pod's probes and scrapes come from outside of it.
        description="The address on which /metrics, /healthz and /readyz are served.",
    )
    http_port: int = Field(
        default=8080,
        ge=0,
        le=65535,
        description="The port on which they are served. 0 picks a free one. The chart sets it.",
    )
    record_to: str = Field(
        default="",
        description=(
            "A directory to which the leader writes a recording of what becomes of gangs and "
            "nodes, which `replay` reads. The directory must exist. Empty: nothing is recorded. "
            "The chart sets it with recording.volume."
        ),
    )
    record_megabytes: int = Field(
        default=64,
        ge=1,
        le=65536,
        description="The size, in 10^6 bytes, from which on a recording goes on in another file.",
    )
    record_files: int = Field(
        default=8,
        ge=2,
        le=10_000,
        description="How many files of recordings are kept; the oldest ones are deleted.",
    )
    leader_elect: bool = Field(
        default=True,
        description=(
            "Whether to hold a Lease while scheduling, so that only one replica schedules. "
            "The chart refuses false with more than one replica."
        ),
    )
    lease_name: str = Field(
        default="py-gang-scheduler",
        description="The name of the Lease. The chart sets it to the name of the release.",
    )
    lease_namespace: str = Field(
        default="",
        description=(
            "The namespace of the Lease. Empty: the pod's own namespace, else kube-system. "
            "The chart sets it."
        ),
    )
    lease_duration_seconds: int = Field(
        default=10,
        ge=2,
        le=600,
        description=(
            "How long a Lease lasts after its last renewal. After a replica was killed, the "
            "other one takes over this much later, plus a second or two."
        ),
    )
    renew_deadline_seconds: float = Field(
        default=8.0,
        gt=0,
        validate_default=True,
        description=(
            "How long after its last renewal the leader may write; at least 1 less than "
            "leaseDurationSeconds."
        ),
    )
    retry_period_seconds: float = Field(
        default=1.0,
        gt=0,
        validate_default=True,
        description=(
            "How often the leader renews the Lease; at most a third of renewDeadlineSeconds. "
            "Waiting replicas look at it twice as often."
        ),
    )
    kubeconfig: str = Field(
        default="",
        description=(
            "The path of a kubeconfig. Empty: the pod's own account in a cluster, else the "
            "usual places."
        ),
    )
    log_format: LogFormat = Field(
        default=LogFormat.JSON, description="The format of the log: json or console."
    )
    log_level: LogLevel = Field(
        default=LogLevel.INFO,
        description="The lowest level that is logged: debug, info, warning or error.",
    )

    @field_validator("renew_deadline_seconds")
    @classmethod
    def _ends_before_the_lease(cls, deadline: float, others: ValidationInfo) -> float:
        """Return the deadline.

        Raises ValueError if the Lease would end less than a second later: a write may take that
        long.
        """
        duration = others.data.get("lease_duration_seconds")
        if duration is not None and deadline > duration - 1:
            raise ValueError(f"it must be at least 1 less than leaseDurationSeconds, {duration}")
        return deadline

    @field_validator("retry_period_seconds")
    @classmethod
    def _fits_into_the_deadline(cls, period: float, others: ValidationInfo) -> float:
        """Return the period.

        Raises ValueError if there is no time for three attempts before the deadline.
        """
        deadline = others.data.get("renew_deadline_seconds")
        if deadline is not None and 3 * period > deadline:
            raise ValueError(f"it must be at most a third of renewDeadlineSeconds, {deadline:g}")
        return period


def unknown_variables() -> list[str]:
    """Return the environment variables that look like a setting but are not one."""
    known = {f"{ENV_PREFIX}{name}".upper() for name in Settings.model_fields}
    # pydantic accepts them in upper or lower case.
    ours = (name for name in os.environ if name.upper().startswith(ENV_PREFIX))
    return sorted(name for name in ours if name.upper() not in known)
