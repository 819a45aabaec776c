"""Fields that are read of workloads: the ones that say which gangs their pods are."""

import re
from typing import Final

from msgspec import field

from gang_scheduler.wire.core import Condition, Count, Int32, Labelled, Metadata, Quantities, Wire
from gang_scheduler.wire.pods import PodTemplate


class StatefulSetSpec(Wire, frozen=True):
    """`spec` of a StatefulSet."""

    replicas: Count = 1
    pod_management_policy: str = "OrderedReady"
    template: PodTemplate = PodTemplate()


class StatefulSet(Wire, frozen=True):
    """A StatefulSet."""

    metadata: Metadata
    spec: StatefulSetSpec = StatefulSetSpec()


COMPLETE: Final = ("Complete", "True")
SPAN: Final = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


class PodConditionPattern(Wire, frozen=True):
    """`spec.podFailurePolicy.rules[].onPodConditions[]`."""

    type: str = ""
    status: str = "True"


class ExitCodes(Wire, frozen=True):
    """`spec.podFailurePolicy.rules[].onExitCodes`, as for all containers."""

    operator: str = ""
    values: list[Int32] = field(default_factory=list)


class PodFailureRule(Wire, frozen=True):
    """`spec.podFailurePolicy.rules[]`."""

    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: list[PodConditionPattern] = field(default_factory=list)


class PodFailurePolicy(Wire, frozen=True):
    """`spec.podFailurePolicy`: the first rule that matches a failed pod decides."""

    rules: list[PodFailureRule] = field(default_factory=list)


class JobSpec(Wire, frozen=True):
    """`spec` of a Job. Without completions, any success ends the Job.

    The API server fills `backoff_limit` in; `backoff_limit_per_index` replaces it where it is set.
    """

    template: PodTemplate = PodTemplate()
    parallelism: Count = 1
    completions: Count | None = None
    active_deadline_seconds: Count | None = None
    backoff_limit: Count | None = None
    backoff_limit_per_index: Count | None = None
    pod_failure_policy: PodFailurePolicy = PodFailurePolicy()
    completion_mode: str = ""
    suspend: bool = False
    managed_by: str = ""

    @property
    def all_completions(self) -> int:
        """How many pods must succeed, as many as run at once if it is not said."""
        return self.parallelism if self.completions is None else self.completions

    @property
    def at_once(self) -> int:
        """How many pods there are at once, as long as none has succeeded."""
        return min(self.parallelism, self.all_completions)


class JobStatus(Wire, frozen=True):
    """`status` of a Job."""

    succeeded: Count = 0
    failed: Count = 0
    failed_indexes: str = ""
    start_time: str = ""
    completion_time: str = ""
    conditions: list[Condition] = field(default_factory=list)


class Job(Wire, frozen=True):
    """A Job."""

    metadata: Metadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def left(self) -> int:
        """How many pods are still to succeed. No pod comes for an index that failed for good."""
        if any((each.type, each.status) == COMPLETE for each in self.status.conditions):
            return 0
        failed = _number_of_indexes(self.status.failed_indexes)
        return self.spec.all_completions - self.status.succeeded - failed


def _number_of_indexes(text: str) -> int:
    """Return how many indexes a text such as 1,3-5,7 names."""
    spans = (SPAN.fullmatch(each) for each in text.split(","))
    ends = ((int(each[1]), int(each[2] or each[1])) for each in spans if each is not None)
    return sum(max(0, last - first + 1) for first, last in ends)


class JobTemplate(Wire, frozen=True):
    """The template of a replicatedJob."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()


class ReplicatedJob(Wire, frozen=True):
    """`spec.replicatedJobs[]`."""

    name: str = ""
    replicas: Count = 1
    template: JobTemplate = JobTemplate()
    depends_on: list[dict[str, object]] = field(default_factory=list)


class StartupPolicy(Wire, frozen=True):
    """`spec.startupPolicy` of a JobSet."""

    startup_policy_order: str = ""


class JobSetSpec(Wire, frozen=True):
    """`spec` of a JobSet."""

    replicated_jobs: list[ReplicatedJob] = field(default_factory=list)
    startup_policy: StartupPolicy = StartupPolicy()
    suspend: bool = False
    managed_by: str = ""


class ReplicatedJobStatus(Wire, frozen=True):
    """`status.replicatedJobsStatus[]` of a JobSet: how many of the Jobs have succeeded."""

    name: str = ""
    succeeded: Count = 0


class JobSetStatus(Wire, frozen=True):
    """`status` of a JobSet."""

    replicated_jobs_status: list[ReplicatedJobStatus] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)


class JobSet(Wire, frozen=True):
    """A JobSet."""

    metadata: Metadata
    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()


# The training jobs of Kubeflow, and its TrainJobs.


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


class LeaderWorkerTemplate(Wire, frozen=True):
    """`spec.leaderWorkerTemplate`: without a template of its own the leader is a worker, too."""

    size: Count = 1
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate = PodTemplate()


class LeaderWorkerSetSpec(Wire, frozen=True):
    """`spec` of a LeaderWorkerSet."""

    replicas: Count = 1
    startup_policy: str = ""
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()


class LeaderWorkerSet(Wire, frozen=True):
    """A LeaderWorkerSet."""

    metadata: Metadata
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


class HeadGroup(Wire, frozen=True):
    """`spec.headGroupSpec`: one pod."""

    template: PodTemplate = PodTemplate()


class WorkerGroup(Wire, frozen=True):
    """`spec.workerGroupSpecs[]`, with the defaults of the CRD. Each replica has so many hosts."""

    group_name: str = ""
    replicas: Count = 0
    min_replicas: Count = 0
    max_replicas: Count = 2**31 - 1
    num_of_hosts: Count = 1
    suspend: bool = False
    template: PodTemplate = PodTemplate()

    @property
    def number(self) -> int:
        """How many pods the group has."""
        return self._pods(max(self.replicas, self.min_replicas))

    @property
    def least(self) -> int:
        """How many pods the group has if it is scaled down as far as it may be."""
        return self._pods(self.min_replicas)

    def _pods(self, replicas: int) -> int:
        return 0 if self.suspend else min(replicas, self.max_replicas) * max(1, self.num_of_hosts)


class RayClusterSpec(Wire, frozen=True):
    """`spec` of a RayCluster."""

    head_group_spec: HeadGroup = HeadGroup()
    worker_group_specs: list[WorkerGroup] = field(default_factory=list)
    enable_in_tree_autoscaling: bool = False
    suspend: bool = False
    managed_by: str = ""


class RayCluster(Wire, frozen=True):
    """A RayCluster."""

    metadata: Metadata
    spec: RayClusterSpec = RayClusterSpec()
    api_version: str = ""


class RayJobSpec(Wire, frozen=True):
    """`spec` of a RayJob."""

    cluster_selector: dict[str, str] = field(default_factory=dict)
    ray_cluster_spec: RayClusterSpec | None = None
    suspend: bool = False
    managed_by: str = ""


class RayJobStatus(Wire, frozen=True):
    """`status` of a RayJob."""

    job_deployment_status: str = ""
    ray_cluster_name: str = ""


class RayJob(Wire, frozen=True):
    """A RayJob."""

    metadata: Metadata
    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()


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


# What is read of the PodGroups of scheduling.k8s.io.


class GangPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy.gang` of a native PodGroup."""

    min_count: Int32 = 1


class PodGroupsSchedulingPolicy(Wire, frozen=True):
    """`spec.schedulingPolicy` of a native PodGroup: gang; without one, basic."""

    gang: GangPolicy | None = None


class TopologyConstraint(Wire, frozen=True):
    """`spec.schedulingConstraints.topology[]` of a native PodGroup."""

    key: str = ""


class SchedulingConstraints(Wire, frozen=True):
    """`spec.schedulingConstraints` of a native PodGroup."""

    topology: list[TopologyConstraint] = field(default_factory=list)


class DisruptionMode(Wire, frozen=True):
    """`spec.disruptionMode` of a native PodGroup: one of its fields is set."""

    all: dict[str, object] | None = None


class NativePodGroupSpec(Wire, frozen=True):
    """`spec` of a native PodGroup."""

    scheduling_policy: PodGroupsSchedulingPolicy = PodGroupsSchedulingPolicy()
    scheduling_constraints: SchedulingConstraints = SchedulingConstraints()
    resource_claims: list[dict[str, object]] = field(default_factory=list)
    parent_composite_pod_group_name: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    # A word in v1alpha2, a union of objects since.
    disruption_mode: DisruptionMode | str = ""


class NativePodGroup(Wire, frozen=True):
    """A PodGroup of scheduling.k8s.io."""

    metadata: Metadata
    spec: NativePodGroupSpec = NativePodGroupSpec()
