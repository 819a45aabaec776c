"""The only reader of the environment and of flags: one frozen Settings."""

import os

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from gang_scheduler.settings.choices import HttpClientName, LogFormat, LogLevel, PodSource
from gang_scheduler.settings.eviction import EvictionSettings
from gang_scheduler.settings.policy import Policy
from gang_scheduler.settings.values import Name, Shape


class Settings(EvictionSettings, Policy, BaseSettings):
    """Every setting of `run`: field `like_this` is flag `--like-this` and `PGS_LIKE_THIS`."""

    model_config = SettingsConfigDict(env_prefix="PGS_", frozen=True, extra="forbid")

    kueue_namespace: Name = Field(
        default="kueue-system",
        description="The namespace of the Lease by which Kueue's controller is known to run.",
    )
    volcano_jobs: bool = Field(
        default=False,
        description=(
            "Let Jobs of Volcano with our schedulerName have their pods created: write the phase "
            "Inqueue into their PodGroups once their queue would admit them."
        ),
    )
    volcano_namespace: Name = Field(
        default="volcano-system",
        description="The namespace of the Lease by which Volcano's scheduler is known to run.",
    )
    bind_concurrency: int = Field(
        default=64, ge=1, le=1024, description="Bindings in flight at once."
    )
    batch_milliseconds: int = Field(
        default=20,
        ge=0,
        description="How long a cycle waits after the first change for others to come with it.",
    )
    status_interval_milliseconds: int = Field(
        default=500,
        ge=50,
        description="The least time between two status writes to one PodGroup.",
    )
    status_concurrency: int = Field(
        default=8, ge=1, le=256, description="Status and Event writes in flight at once."
    )
    pod_events: bool = Field(
        default=True,
        description=(
            "Write Events on the members of gangs, too: why they wait, and where they were bound."
        ),
    )
    pod_event_seconds: int = Field(
        default=10,
        ge=0,
        le=3600,
        description="How long a reason must stand before a waiting pod gets an Event of it.",
    )
    source: PodSource = Field(
        default=PodSource.KOPF,
        description=(
            "What watches the cluster: kopf, or the reflector, which takes a fraction of the CPU, "
            "for large clusters."
        ),
    )
    sweep_seconds: int = Field(
        default=300,
        ge=5,
        description=(
            "How often the cache is compared with a list, to notice deletions that Kopf missed; "
            "the reflector misses none."
        ),
    )
    queue_deletion_grace_seconds: int = Field(
        default=10,
        ge=0,
        le=3600,
        description=(
            "How long a queue counts after it was deleted, so that one that is created anew loses "
            "no gangs to others."
        ),
    )
    metrics_queues: int = Field(
        default=500,
        ge=0,
        description="How many queues have metrics of their own; the others are summed as _other.",
    )
    gauge_shapes: tuple[Shape, ...] = Field(
        default=("nvidia.com/gpu=8",),
        max_length=4,
        description=(
            "Of which members pgs_largest_gang says how many fit: RESOURCE=QUANTITY, several with "
            "commas between (a JSON list in the environment)."
        ),
    )
    http_client: HttpClientName = Field(
        default=HttpClientName.BUILTIN,
        description=(
            "What sends the requests beside the watches: builtin, or aiohttp, which takes about "
            "four times as much CPU a request."
        ),
    )
    http_host: str = Field(
        default="0.0.0.0",  # noqa: S104 - a pod's probes and scrapes come from outside of it.
        description="Address of /metrics, /healthz and /readyz.",
    )
    http_port: int = Field(
        default=8080, ge=0, le=65535, description="Port of these; 0 picks a free one."
    )
    leader_elect: bool = Field(
        default=True, description="Hold a Lease while scheduling, so that replicas take turns."
    )
    lease_name: str = Field(default="py-gang-scheduler", description="Name of the Lease.")
    lease_namespace: str = Field(
        default="", description="Namespace of the Lease; empty: the pod's own, else kube-system."
    )
    lease_duration_seconds: int = Field(
        default=10,
        ge=2,
        le=600,
        description="How long after its last renewal the Lease of a replica that is gone lasts.",
    )
    renew_deadline_seconds: float = Field(
        default=8.0,
        gt=0,
        validate_default=True,
        description=(
            "How long after its last renewal the leader writes; at least 1 less than the duration."
        ),
    )
    retry_period_seconds: float = Field(
        default=1.0,
        gt=0,
        validate_default=True,
        description=(
            "How often the Lease is renewed, and twice as often looked at by those that wait for "
            "it; at most a third of the deadline."
        ),
    )
    kubeconfig: str = Field(
        default="", description="Path of a kubeconfig; empty: in-cluster, else the usual places."
    )
    log_format: LogFormat = Field(default=LogFormat.JSON, description="json or console.")
    log_level: LogLevel = Field(default=LogLevel.INFO, description="debug, info, warning or error.")

    @field_validator("renew_deadline_seconds")
    @classmethod
    def _ends_before_the_lease(cls, deadline: float, others: ValidationInfo) -> float:
        """Return a deadline after which writes may take a second. Raises ValueError for another."""
        duration = others.data.get("lease_duration_seconds")
        if duration is not None and deadline > duration - 1:
            raise ValueError(
                f"it must be at least 1 less than the duration of the Lease, {duration}"
            )
        return deadline

    @field_validator("retry_period_seconds")
    @classmethod
    def _fits_into_the_deadline(cls, period: float, others: ValidationInfo) -> float:
        """Return a period of which two attempts can fail. Raises ValueError for another."""
        deadline = others.data.get("renew_deadline_seconds")
        if deadline is not None and 3 * period > deadline:
            raise ValueError(f"it must be at most a third of the deadline of renewal, {deadline:g}")
        return period


def unknown_variables() -> list[str]:
    """Return the variables of the environment that are named like a setting, and are none."""
    prefix = Settings.model_config["env_prefix"]
    known = {f"{prefix}{name}".upper() for name in Settings.model_fields}
    # As pydantic reads them: in upper or lower case.
    ours = (name for name in os.environ if name.upper().startswith(prefix))
    return sorted(name for name in ours if name.upper() not in known)
