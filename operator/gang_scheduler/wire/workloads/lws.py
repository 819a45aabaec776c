"""What is read of LeaderWorkerSets."""

from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Count, Wire


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
