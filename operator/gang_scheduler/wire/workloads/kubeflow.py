"""What is read of the training jobs of Kubeflow, and of its TrainJobs."""

from msgspec import field

from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Count, Wire


class SchedulingPolicy(Wire, frozen=True):
    """`spec.runPolicy.schedulingPolicy`, which its operator copies to a PodGroup that it makes."""

    min_available: Count | None = None
    queue: str = ""
    min_resources: Quantities = field(default_factory=dict)
    schedule_timeout_seconds: Count | None = None


class RunPolicy(Wire, frozen=True):
    """`spec.runPolicy`. `activeDeadlineSeconds` counts from `status.startTime`."""

    active_deadline_seconds: int | None = None
    scheduling_policy: SchedulingPolicy = SchedulingPolicy()
    suspend: bool = False
    managed_by: str = ""


class ElasticPolicy(Wire, frozen=True):
    """`spec.elasticPolicy` of a PyTorchJob or PaddleJob."""

    min_replicas: Count | None = None


class ReplicaSpec(Wire, frozen=True):
    """The pods of one role. How many there are by default depends on the role."""

    replicas: Count | None = None
    template: PodTemplate = PodTemplate()


class TrainingJobSpec(Wire, frozen=True):
    """`spec` of a training job. Each kind has its own field for its roles."""

    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy = ElasticPolicy()
    launcher_creation_policy: str = ""
    jax_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    mpi_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    paddle_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    pytorch_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    tf_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)
    xgb_replica_specs: dict[str, ReplicaSpec] = field(default_factory=dict)

    @property
    def replica_specs(self) -> dict[str, ReplicaSpec]:
        """The roles by their names in lower case, as labels have them."""
        found = (
            self.jax_replica_specs
            or self.mpi_replica_specs
            or self.paddle_replica_specs
            or self.pytorch_replica_specs
            or self.tf_replica_specs
            or self.xgb_replica_specs
        )
        return {name.lower(): each for name, each in found.items()}


class TrainingJobStatus(Wire, frozen=True):
    """`status` of a training job."""

    start_time: str = ""
    conditions: list[Condition] = field(default_factory=list)


class TrainingJob(Wire, frozen=True):
    """A training job of any kind."""

    metadata: Metadata
    api_version: str = ""
    spec: TrainingJobSpec = TrainingJobSpec()
    status: TrainingJobStatus = TrainingJobStatus()


class TrainJobSpec(Wire, frozen=True):
    """`spec` of a TrainJob."""

    suspend: bool = False
    managed_by: str = ""


class TrainJobStatus(Wire, frozen=True):
    """`status` of a TrainJob."""

    conditions: list[Condition] = field(default_factory=list)


class TrainJob(Wire, frozen=True):
    """A TrainJob."""

    metadata: Metadata
    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()
