"""What is read of the Queues and PodGroups of Volcano."""

from typing import Any

from msgspec import field

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.quantities import Quantities
from gang_scheduler.wire.structs import Count, Int32, Wire


class Guarantee(Wire, frozen=True):
    """`spec.guarantee`."""

    resource: Quantities = field(default_factory=dict)


class QueueSpec(Wire, frozen=True):
    """`spec` of a Queue."""

    weight: Int32 = 1
    capability: Quantities = field(default_factory=dict)
    deserved: Quantities = field(default_factory=dict)
    guarantee: Guarantee = Guarantee()
    parent: str = ""
    priority: Int32 = 0
    reclaimable: bool | None = None
    dequeue_strategy: str = ""
    affinity: dict[str, Any] | None = None
    extend_clusters: list[Any] = field(default_factory=list)


class QueueStatus(Wire, frozen=True):
    """`status` of a Queue."""

    state: str = ""


class Queue(Wire, frozen=True):
    """A Queue."""

    metadata: Metadata
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class NetworkTopology(Wire, frozen=True):
    """`spec.networkTopology`: hard, or soft."""

    mode: str = "hard"
    highest_tier_allowed: Int32 | None = None
    highest_tier_name: str = ""


NO_TOPOLOGY = NetworkTopology(mode="")


class PodGroupSpec(Wire, frozen=True):
    """`spec` of a PodGroup."""

    min_member: Count = 0
    min_task_member: dict[str, Count] = field(default_factory=dict)
    min_resources: Quantities = field(default_factory=dict)
    queue: str = ""
    priority_class_name: str = ""
    preemptable: bool | None = None
    network_topology: NetworkTopology = NO_TOPOLOGY
    sub_group_policy: list[Any] = field(default_factory=list)


class PodGroupStatus(Wire, frozen=True):
    """`status` of a PodGroup."""

    phase: str = ""


class PodGroup(Wire, frozen=True):
    """A PodGroup."""

    metadata: Metadata
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class JobSpec(Wire, frozen=True):
    """`spec` of a Job."""

    scheduler_name: str = ""


class Job(Wire, frozen=True):
    """A Job of Volcano."""

    metadata: Metadata
    spec: JobSpec = JobSpec()
