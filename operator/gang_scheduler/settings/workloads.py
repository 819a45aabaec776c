"""What waits without pods, and the nodes that are bought."""

from pydantic import BaseModel, Field

from gang_scheduler.settings.choices import ManagedKind


class WorkloadSettings(BaseModel):
    """What waits without pods, and the nodes that are bought."""

    manage_jobs: tuple[ManagedKind, ...] = Field(
        default=(),
        description=(
            "Kinds of workloads that wait without pods while they are suspended, if they name a "
            "queue and have our schedulerName, and that are let start when their gang fits (a JSON "
            "list in the environment)."
        ),
    )
    pods_timeout_seconds: int = Field(
        default=120,
        ge=1,
        description=(
            "How long quota and room are kept for the pods of a workload that was suspended, once "
            "it is let start; then it is suspended again."
        ),
    )
    provisioning_requests: bool = Field(
        default=False,
        description=(
            "Buy nodes for gangs that lack nothing but room: write ProvisioningRequests of the "
            "class that they or their queues name."
        ),
    )
    provisioning_retries: int = Field(
        default=3,
        ge=0,
        le=100,
        description=(
            "How often nodes are asked for again after a request came to nothing, where no "
            "ProvisioningRequestConfig says it."
        ),
    )
    provisioning_backoff_seconds: int = Field(
        default=60,
        ge=1,
        le=1800,
        description=(
            "After how long nodes are asked for again the first time; doubled each time, up to "
            "half an hour."
        ),
    )
