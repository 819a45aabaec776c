"""Jobs and JobSets: the gangs that they declare, and what is read of no other object."""

from collections.abc import Mapping
from typing import Any

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import durations, fields
from gang_scheduler.decode.gangs import workloads
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.jobs import job_failures, misplaced_requests
from gang_scheduler.model.causes import InvalidInput
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.wire.jobs import Job, JobSet
from gang_scheduler.wire.metadata import Metadata


def job(body: Mapping[str, Any]) -> GangObject:
    """Return a Job. Raises InvalidField for what is no Job."""
    source = fields.read(body, Job)
    return GangObject(
        source.metadata.uid,
        workloads.job(source),
        misplaced=misplaced_requests.of_job(source),
        pods=workloads.pods_of(source),
        failures=job_failures.failures_of(source),
        failed_gang=job_failures.failed_gang_of(source),
        workload=source.metadata.uid,
        queue_request=workloads.queue_request(source.metadata),
        run_time=durations.run_time(
            source.spec.active_deadline_seconds,
            source.metadata.labels,
            source.metadata.annotations,
            fields.timestamp(source.status.start_time, "status.startTime"),
        ),
        run_time_problem=_run_time_problem(source.metadata),
    )


def job_set(body: Mapping[str, Any]) -> GangObject:
    """Return a JobSet. Raises InvalidField for what is no JobSet."""
    source = fields.read(body, JobSet)
    metadata = source.metadata
    return GangObject(
        metadata.uid,
        workloads.job_set(source),
        misplaced=misplaced_requests.of_job_set(source),
        parts=workloads.parts_of(source),
        workload=f"{metadata.namespace}/{metadata.name}",
        queue_request=workloads.queue_request(metadata),
    )


def _run_time_problem(metadata: Metadata) -> Problem | None:
    try:
        durations.expected(metadata.labels, metadata.annotations)
    except InvalidField as error:
        text = f"Job {metadata.namespace}/{metadata.name}: {error}"
        return Problem(Reason.INVALID_SPEC, InvalidInput(text))
    return None
