"""What waits without pods, and the nodes that are bought."""

from pydantic import BaseModel, Field

from gang_scheduler.settings.choices import ManagedKind


class WorkloadSettings(BaseModel):
    """What waits without pods, and the nodes that are bought."""

    manage_jobs: tuple[ManagedKind, ...] = Field(
        default=(),
        description=(
            "Workload kinds that wait suspended, without pods, and are started by the "
            "scheduler when their gang fits (a JSON list in the environment). A workload "
            "takes part if it names a queue and has this scheduler's schedulerName."
        ),
    )
    pods_timeout_seconds: int = Field(
        default=120,
        ge=1,
        description=(
            "How long quota and room are kept for the pods of a workload that was just "
            "started. If no pods appear in this time, it is suspended again."
        ),
    )
    provisioning_requests: bool = Field(
        default=False,
        description=(
            "Whether to ask for nodes for gangs that lack only room, by writing "
            "ProvisioningRequests of the class that the gang or its queue names."
        ),
    )
    provisioning_retries: int = Field(
        default=3,
        ge=0,
        le=100,
        description=(
            "How often to ask for nodes again after a request failed, unless a "
            "ProvisioningRequestConfig says otherwise."
        ),
    )
    provisioning_backoff_seconds: int = Field(
        default=60,
        ge=1,
        le=1800,
        description=(
            "How long to wait before the first further request for nodes. The time doubles "
            "with each failure, up to half an hour."
        ),
    )
