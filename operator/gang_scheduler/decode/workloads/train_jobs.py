"""TrainJobs of Kubeflow Trainer: the JobSet of one makes its pods, and says its gangs.

The pods have no mark of their TrainJob, which is not read itself: it owns the JobSet.
"""

from typing import Final

from gang_scheduler.api.annotations import JOB_SET_LABEL
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.workloads.kind import WorkloadKind
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.wire.metadata import Metadata

SOURCE: Final = GangSource("TrainJob", "JobSet")
API_GROUP: Final = "trainer.kubeflow.org/"


def own(job_set: Metadata) -> bool:
    """Return whether a JobSet was made for a TrainJob."""
    return any(
        each.kind == SOURCE.name and each.api_version.startswith(API_GROUP)
        for each in job_set.owner_references
    )


KIND: Final = WorkloadKind(
    # No pod names its gang as one of these: it is a gang of its JobSet.
    PodsOfKind(SOURCE, keys=frozenset({JOB_SET_LABEL}), by_default=True)
)
