"""What is read of RayClusters and RayJobs."""

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Count, Wire


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
