"""The gangs that Jobs and JobSets declare.

A workload is a gang if its pod template asks for it: by our label, or by a topology request.
"""

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import JOB_SETS, JOBS
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.gang_specs import GangSpec, with_topology_request
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import gang_sources
from gang_scheduler.model.refs import GangKey, JobPods, QueueRequest
from gang_scheduler.wire.jobs import Job, JobSet, JobSetSpec, JobSpec, ReplicatedJob
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate


def job(source: Job) -> tuple[GangSpec, ...]:
    """Return the gang of a Job, if it is one. Raises InvalidField for an invalid time.

    The Job of a JobSet is a part of its replicatedJob's gang, and no gang by itself.
    """
    if not _is_gang(source.spec.template) or _is_part(source.spec.template):
        return ()
    left = _completions(source.spec) - source.status.succeeded
    spec = GangSpec(
        key=GangKey(gang_sources.JOB.name, source.metadata.namespace, source.metadata.name),
        uid=source.metadata.uid,
        gvr=JOBS,
        created_at=fields.timestamp(source.metadata.creation_timestamp),
        min_member=max(1, min(source.spec.parallelism, left)),
        finished=left <= 0,
        queue_request=queue_request(source.metadata),
    )
    return (with_topology_request(spec, source.spec.template.metadata.annotations),)


def job_set(source: JobSet) -> tuple[GangSpec, ...]:
    """Return a gang for each replicatedJob that asks for it, in one group if all start together.

    Raises InvalidField for an invalid time.
    """
    jobs = [
        each
        for each in source.spec.replicated_jobs
        if _is_gang(each.template.spec.template) and each.replicas * _at_once(each.template.spec)
    ]
    options = GangOptions()
    if not _starts_in_order(source.spec):
        options = GangOptions(groups=tuple(_key(source, each).called for each in jobs))
    return tuple(_replicated(source, each, options) for each in jobs)


def pods_of(source: Job) -> JobPods | None:
    """Return how many pods a Job can have; None for a Job that is a part of a larger workload."""
    if any(each.controller for each in source.metadata.owner_references):
        return None
    left = _completions(source.spec) - source.status.succeeded
    return JobPods(_at_once(source.spec), max(0, min(source.spec.parallelism, left)))


def parts_of(source: JobSet) -> tuple[tuple[str, int], ...]:
    """Return the replicatedJobs with how many pods the Jobs of each can have at once."""
    metadata = source.metadata
    return tuple(
        (
            gang_sources.part_of(metadata.namespace, metadata.name, each.name),
            each.replicas * _at_once(each.template.spec),
        )
        for each in source.spec.replicated_jobs
    )


def _replicated(source: JobSet, each: ReplicatedJob, options: GangOptions) -> GangSpec:
    job = each.template.spec
    spec = GangSpec(
        key=_key(source, each),
        uid=source.metadata.uid,
        gvr=JOB_SETS,
        created_at=fields.timestamp(source.metadata.creation_timestamp),
        min_member=max(1, each.replicas * _at_once(job)),
        completions=each.replicas * _completions(job),
        options=options,
        queue_request=queue_request(source.metadata),
    )
    return with_topology_request(spec, job.template.metadata.annotations)


def _key(source: JobSet, each: ReplicatedJob) -> GangKey:
    name = gang_sources.job_set_gang(source.metadata.name, each.name)
    return GangKey(gang_sources.JOB_SET.name, source.metadata.namespace, name)


def _starts_in_order(spec: JobSetSpec) -> bool:
    """Return whether some Jobs are created only after other Jobs run: no common start then."""
    in_order = spec.startup_policy.startup_policy_order == "InOrder"
    return in_order or any(each.depends_on for each in spec.replicated_jobs)


def queue_request(metadata: Metadata) -> QueueRequest | None:
    """Return what a Job or JobSet says of the queue of its pods, beside what these say."""
    return naming.request_of(metadata.labels, metadata.annotations)


def _is_gang(template: PodTemplate) -> bool:
    metadata = template.metadata
    return annotations.ask_for_gang(metadata.labels, metadata.annotations)


def _is_part(template: PodTemplate) -> bool:
    labels = template.metadata.labels
    return bool(
        labels.get(annotations.JOB_SET_LABEL) and labels.get(annotations.REPLICATED_JOB_LABEL)
    )


def _completions(spec: JobSpec) -> int:
    return spec.parallelism if spec.completions is None else spec.completions


def _at_once(spec: JobSpec) -> int:
    return min(spec.parallelism, _completions(spec))
