"""Jobs. The pods of one are a gang if its pod template asks for it.

By our label, or by a topology request.
"""

from dataclasses import replace
from typing import Final

from gang_scheduler.api.kinds import JOBS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import durations, fields
from gang_scheduler.decode.checkpoints import reports
from gang_scheduler.decode.gangs import gang_annotations
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import (
    GangSpec,
    with_checkpoint,
    with_elastic,
    with_foreign_marks,
    with_topology_request,
)
from gang_scheduler.decode.pods.membership import Membership, PodsOfKind, job_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import job_failures, job_sets, misplaced_requests
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind, asks
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobPods
from gang_scheduler.wire.metadata import Metadata, OwnerReference
from gang_scheduler.wire.pods import Pod
from gang_scheduler.wire.workloads.jobs import Job


def read(body: Body) -> GangObject:
    """Return a Job. Raises InvalidField for what is no Job."""
    source = fields.read(body, Job)
    return GangObject(
        source.metadata.uid,
        _gang_specs(source),
        misplaced=misplaced_requests.of_job(source),
        pods=_pods_of(source),
        failures=job_failures.failures_of(source),
        failed_gang=failed_gang_of(source),
        workload=source.metadata.uid,
        queue_request=naming.request_of(source.metadata.labels, source.metadata.annotations),
        run_time=durations.run_time(
            source.spec.active_deadline_seconds,
            source.metadata.labels,
            source.metadata.annotations,
            fields.timestamp(source.status.start_time, "status.startTime"),
        ),
        run_time_problem=_run_time_problem(source.metadata),
    )


def failed_gang_of(source: Job) -> GangKey | None:
    """Return the gang of the pods of a Job that has failed; None for any other Job."""
    return _OF_JOBS.gang_of(_like_its_pods(source)) if job_failures.has_failed(source) else None


def _like_its_pods(source: Job) -> Pod:
    """Return a pod such as a Job makes."""
    metadata, template = source.metadata, source.spec.template
    owner = OwnerReference("batch/v1", "Job", metadata.name, metadata.uid, controller=True)
    made = Metadata(
        name=metadata.name,
        namespace=metadata.namespace,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        owner_references=[owner],
    )
    return Pod(made, template.spec)


def _gang_specs(source: Job) -> tuple[GangSpec, ...]:
    """Return the gang of a Job, if it is one. Raises InvalidField for an invalid time.

    The Job of a JobSet is a part of its replicatedJob's gang, and no gang by itself.
    """
    if not asks(source.spec.template) or job_sets.name_of(source.spec.template.metadata):
        return ()
    left = source.left
    spec = GangSpec(
        key=GangKey(gang_sources.JOB.name, source.metadata.namespace, source.metadata.name),
        uid=source.metadata.uid,
        gvr=JOBS,
        created_at=fields.timestamp(source.metadata.creation_timestamp),
        min_member=max(1, min(source.spec.parallelism, left)),
        finished=left <= 0,
        queue_request=naming.request_of(source.metadata.labels, source.metadata.annotations),
    )
    of_template = source.spec.template.metadata.annotations
    spec = with_topology_request(spec, of_template)
    spec = with_checkpoint(spec, source.metadata.annotations)
    spec = replace(spec, checkpoints=reports.of_latest(source.metadata.annotations))
    spec = with_elastic(spec, {**of_template, **source.metadata.annotations})
    spec = _with_force_delete(spec, source.metadata)
    spec = with_foreign_marks(spec, source.metadata)
    # What is left of a Job may be less than its minimum.
    return (replace(spec, min_member=max(1, min(spec.min_member, left))),)


def _with_force_delete(spec: GangSpec, job: Metadata) -> GangSpec:
    """Return the spec with what the Job itself says of stuck pods; its template says it on pods."""
    try:
        seconds = gang_annotations.force_delete(job.annotations)
    except InvalidField as error:
        problem = Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))
        return replace(spec, problem=spec.problem or problem)
    return replace(spec, options=replace(spec.options, force_delete_seconds=seconds))


def _pods_of(source: Job) -> JobPods:
    """Return how many pods a Job can have."""
    spec, metadata = source.spec, source.metadata
    pods = JobPods(
        at_once=spec.at_once,
        left=max(0, min(spec.parallelism, source.left)),
        completions=spec.all_completions,
        is_part=any(each.controller for each in metadata.owner_references),
        created_at=fields.timestamp(metadata.creation_timestamp),
    )
    if source.left > 0:
        return pods
    made = _like_its_pods(source)
    return pods._replace(
        ended_at=fields.timestamp(source.status.completion_time, "status.completionTime"),
        gang=_gang_of(made),
        role=_OF_JOBS.role_of(made.metadata),
    )


def _gang_of(made: Pod) -> GangKey:
    """Return the gang of a pod of a Job; that of its replicatedJob, if it asks for none.

    The pods of a TrainJob do not ask for it.
    """
    gang, part = _OF_JOBS.gang_of(made), job_sets.name_of(made.metadata)
    if gang.source != gang_sources.SINGLE.name or not part:
        return gang
    return GangKey(gang_sources.JOB_SET.name, made.metadata.namespace, part)


def _run_time_problem(metadata: Metadata) -> Problem | None:
    try:
        durations.expected(metadata.labels, metadata.annotations)
    except InvalidField as error:
        text = f"Job {metadata.namespace}/{metadata.name}: {error}"
        return Problem(Reason.INVALID_SPEC, InvalidInput(text))
    return None


_PODS: Final = PodsOfKind(gang_sources.JOB, lambda pod: job_of(pod.metadata).name)
_OF_JOBS: Final = Membership((job_sets.KIND.pods, _PODS), ())
"""In which gangs the pods of any Job can be."""
KIND: Final = WorkloadKind(_PODS, ObjectsOfKind((JOBS,), read))
