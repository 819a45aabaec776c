"""The fields that are read of ProvisioningRequests and Kueue's ProvisioningRequestConfigs.

The structs suit all served versions.
"""

from msgspec import field

from gang_scheduler.wire.base import Condition, Count, Metadata, Wire


class RetryStrategy(Wire, frozen=True):
    """`spec.retryStrategy`, with Kueue's defaults."""

    backoff_limit_count: Count = 3
    backoff_base_seconds: Count = 60
    backoff_max_seconds: Count = 1800


class Spec(Wire, frozen=True):
    """`spec`."""

    provisioning_class_name: str = ""
    parameters: dict[str, str] = field(default_factory=dict)
    managed_resources: list[str] = field(default_factory=list)
    retry_strategy: RetryStrategy = RetryStrategy()


class ProvisioningRequestConfig(Wire, frozen=True):
    """A ProvisioningRequestConfig."""

    metadata: Metadata
    spec: Spec = Spec()


class Reference(Wire, frozen=True):
    """`spec.podSets[].podTemplateRef`."""

    name: str = ""


class PodSet(Wire, frozen=True):
    """`spec.podSets[]`."""

    pod_template_ref: Reference = Reference()


class RequestSpec(Wire, frozen=True):
    """`spec`."""

    provisioning_class_name: str = ""
    pod_sets: list[PodSet] = field(default_factory=list)


class Status(Wire, frozen=True):
    """`status`."""

    conditions: list[Condition] = field(default_factory=list)


class ProvisioningRequest(Wire, frozen=True):
    """A ProvisioningRequest."""

    metadata: Metadata
    spec: RequestSpec = RequestSpec()
    status: Status = Status()
