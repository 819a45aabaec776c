"""TrainJobs of Kubeflow Trainer: the JobSet of one makes its pods, and says its gangs.

The pods have no mark of their TrainJob: it owns the JobSet. A TrainJob itself is read only where
it may wait suspended. It has a JobSet then, too, which is suspended as well.
"""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.api.annotations import JOB_SET_LABEL
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads.kind import WorkloadKind
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.wire.metadata import Metadata, MetadataOnly

SOURCE: Final = GangSource("TrainJob", "JobSet")
API_GROUP: Final = "trainer.kubeflow.org/"


def own(job_set: Metadata) -> bool:
    """Return whether a JobSet was made for a TrainJob."""
    return any(
        each.kind == SOURCE.name and each.api_version.startswith(API_GROUP)
        for each in job_set.owner_references
    )


def read(body: Mapping[str, Any]) -> GangObject:
    """Return a TrainJob, which says the queue of its pods, and no gang. Raises InvalidField."""
    metadata = fields.read(body, MetadataOnly).metadata
    return GangObject(
        metadata.uid,
        workload=of_job_set(f"{metadata.namespace}/{metadata.name}"),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )


def of_job_set(job_set: str) -> str:
    """Return what the pods of a JobSet, by its namespace/name, call the TrainJob that has made it.

    Both have the same name.
    """
    return f"TrainJob {job_set}"


KIND: Final = WorkloadKind(
    # No pod names its gang as one of these: it is a gang of its JobSet.
    PodsOfKind(SOURCE, keys=frozenset({JOB_SET_LABEL}), by_default=True)
)
