"""What is read of Jobs and JobSets."""

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Count, Wire


class JobSpec(Wire, frozen=True):
    """`spec` of a Job. Without completions, any success ends the Job."""

    template: PodTemplate = PodTemplate()
    parallelism: Count = 1
    completions: Count | None = None


class JobStatus(Wire, frozen=True):
    """`status` of a Job."""

    succeeded: Count = 0


class Job(Wire, frozen=True):
    """A Job."""

    metadata: Metadata
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


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


class JobSet(Wire, frozen=True):
    """A JobSet."""

    metadata: Metadata
    spec: JobSetSpec = JobSetSpec()
