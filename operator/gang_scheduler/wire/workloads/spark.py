"""What is read of SparkApplications."""

from msgspec import field

from gang_scheduler.wire.metadata import Labelled, Metadata
from gang_scheduler.wire.structs import Count, Wire


class Executor(Labelled, frozen=True):
    """`spec.executor`: all executors have these labels and annotations."""

    instances: Count | None = None


class DynamicAllocation(Wire, frozen=True):
    """`spec.dynamicAllocation`."""

    enabled: bool = False
    min_executors: Count | None = None


class SparkApplicationSpec(Wire, frozen=True):
    """`spec` of a SparkApplication."""

    executor: Executor = Executor()
    dynamic_allocation: DynamicAllocation = DynamicAllocation()
    spark_conf: dict[str, str] = field(default_factory=dict)


class SparkApplication(Wire, frozen=True):
    """A SparkApplication."""

    metadata: Metadata
    spec: SparkApplicationSpec = SparkApplicationSpec()
