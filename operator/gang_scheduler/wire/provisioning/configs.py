"""What is read of Kueue's ProvisioningRequestConfigs, in all versions that are served."""

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Count, Wire


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
