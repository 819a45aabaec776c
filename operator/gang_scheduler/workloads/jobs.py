"""Jobs: their gang, the effect of evictions on them, and their pods; also CronJobs.

The pods of a Job are a gang if its pod template says so, by our label or by a topology request.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from gang_scheduler.api.kinds import JOBS
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import checkpoints, fields, gang_annotations
from gang_scheduler.decode.gangs.specs import (
    GangObject,
    GangSpec,
    with_checkpoint,
    with_elastic,
    with_foreign_marks,
    with_topology_request,
)
from gang_scheduler.decode.pods.membership import Membership, PodsOfKind, job_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobFailures, JobPods
from gang_scheduler.wire.base import Count, Metadata, OwnerReference, Wire
from gang_scheduler.wire.jobs import (
    Job,
    JobSpec,
    JobStatus,
    JobTemplate,
    PodFailurePolicy,
    PodFailureRule,
)
from gang_scheduler.wire.pods import Pod
from gang_scheduler.workloads import controllers, job_sets, misplaced_requests
from gang_scheduler.workloads.controllers import (
    Source,
    Workload,
    is_active,
    is_deleting,
    part,
    phase,
)
from gang_scheduler.workloads.kind import Body, Kind, Path, ReplicaField, Suspend, served

# The effect of evictions on a Job: whether it survives them. An evicted pod counts as failed,
# unless `podFailurePolicy` ignores DisruptionTarget. More failures than `backoffLimit` end the Job
# for good.

BACKOFF_LIMIT: Final = 6
"""The default of `spec.backoffLimit`, if no API server has filled it in."""
ENDS_IT: Final = frozenset({"FailJob", "FailIndex"})
IN: Final = "In"
EXIT_CODES: Final = (143, 137, None)
"""Exit codes of evicted containers: after SIGTERM, after SIGKILL, or any other (None)."""


def has_failed(job: Job) -> bool:
    """Return whether a Job has failed for good."""
    return any((each.type, each.status) == ("Failed", "True") for each in job.status.conditions)


def failures_of(source: Job) -> JobFailures:
    """Return how many pods of a Job may run at once, and how many evicted pods it survives."""
    spec, status = source.spec, source.status
    at_once = max(0, min(spec.parallelism, source.left))
    return JobFailures(at_once, _left(spec, status.failed))


def _left(spec: JobSpec, failed: int) -> int | None:
    """Return how many more pods may fail; None if evicted pods do not count.

    It is unknown how the containers of an evicted pod will end, so the worst case counts.
    """
    actions = {_action(spec.pod_failure_policy, code) for code in EXIT_CODES}
    if actions == {"Ignore"}:
        return None
    if not actions.isdisjoint(ENDS_IT) or spec.backoff_limit_per_index == 0:
        return 0
    if spec.backoff_limit is None:
        return None if spec.backoff_limit_per_index else max(0, BACKOFF_LIMIT - failed)
    return max(0, spec.backoff_limit - failed)


def _action(policy: PodFailurePolicy, code: int | None) -> str:
    """Return the action of the first rule that matches an evicted pod with this exit code."""
    rules = (each for each in policy.rules if _is_for_evicted(each, code))
    return next((each.action for each in rules), "Count")


def _is_for_evicted(rule: PodFailureRule, code: int | None) -> bool:
    """Return whether a rule matches pods by this exit code, or by the condition of evicted pods."""
    found = rule.on_exit_codes
    if found is not None:
        return code is not None and (code in found.values) == (found.operator == IN)
    return any(
        (each.type, each.status) == ("DisruptionTarget", "True") for each in rule.on_pod_conditions
    )


def read(body: Body) -> GangObject:
    """Return a Job. Raises InvalidField if it cannot be read."""
    source = fields.read(body, Job)
    return GangObject(
        source.metadata.uid,
        _gang_specs(source),
        misplaced=misplaced_requests.of_job(
            source.metadata, source.spec.template, source.status.conditions
        ),
        pods=_pods_of(source),
        failures=failures_of(source),
        failed_gang=failed_gang_of(source),
        workload=source.metadata.uid,
        queue_request=naming.request_of(source.metadata.labels, source.metadata.annotations),
        run_time=fields.run_time(
            source.spec.active_deadline_seconds,
            source.metadata.labels,
            source.metadata.annotations,
            fields.timestamp(source.status.start_time, "status.startTime"),
        ),
        run_time_problem=_run_time_problem(source.metadata),
    )


def failed_gang_of(source: Job) -> GangKey | None:
    """Return the gang that the pods of a failed Job belong to; None for any other Job."""
    return _OF_JOBS.gang_of(_like_its_pods(source)) if has_failed(source) else None


def _like_its_pods(source: Job) -> Pod:
    """Return a pod as a Job creates it, to find out its gang."""
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
    """Return the gang of a Job, or nothing if it is none. Raises InvalidField for an invalid time.

    A Job of a JobSet belongs to the gang of its replicatedJob, and is no gang of its own.
    """
    if not source.spec.template.asks_for_gang() or job_sets.name_of(source.spec.template.metadata):
        return ()
    left = source.left
    spec = GangSpec(
        key=GangKey(refs.JOB.name, source.metadata.namespace, source.metadata.name),
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
    spec = replace(spec, checkpoints=checkpoints.of_latest(source.metadata.annotations))
    spec = with_elastic(spec, {**of_template, **source.metadata.annotations}, refs.JOB.name)
    spec = _with_force_delete(spec, source.metadata)
    spec = with_foreign_marks(spec, source.metadata)
    # A Job may have fewer completions left than its minimum.
    return (replace(spec, min_member=max(1, min(spec.min_member, left))),)


def _with_force_delete(spec: GangSpec, job: Metadata) -> GangSpec:
    """Return the spec with the Job's own annotation force-delete-stuck-pods.

    The pods themselves have only the annotations of the template.
    """
    try:
        seconds = gang_annotations.force_delete(job.annotations)
    except InvalidField as error:
        problem = Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))
        return replace(spec, problem=spec.problem or problem)
    return replace(spec, options=replace(spec.options, force_delete_seconds=seconds))


def _pods_of(source: Job) -> JobPods:
    """Return how many pods a Job can have, and its gang once it has completed."""
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
    """Return the gang of a Job's pod: the gang that it names, else that of its replicatedJob.

    The pods of a TrainJob do not name that gang.
    """
    gang, part = _OF_JOBS.gang_of(made), job_sets.name_of(made.metadata)
    if gang.source != refs.SINGLE.name or not part:
        return gang
    return GangKey(refs.JOB_SET.name, made.metadata.namespace, part)


def _run_time_problem(metadata: Metadata) -> Problem | None:
    try:
        fields.expected_duration(metadata.labels, metadata.annotations)
    except InvalidField as error:
        text = f"Job {metadata.namespace}/{metadata.name}: {error}"
        return Problem(Reason.INVALID_SPEC, InvalidInput(text))
    return None


_PODS: Final = PodsOfKind(refs.JOB, lambda pod: job_of(pod.metadata).name)
_OF_JOBS: Final = Membership((job_sets.PODS, _PODS), ())
"""The gangs to which pods of any Job can belong."""


# Pods that the controller of Jobs would create, and the Job of a CronJob.

INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAMES: Final = ("batch.kubernetes.io/job-name", "job-name")
JOB_UIDS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
INDEXED: Final = "Indexed"
LONGEST_INDEX: Final = 10


class _Spec(JobSpec, frozen=True):
    pod_replacement_policy: str = ""


class _Status(JobStatus, frozen=True):
    active: Count = 0
    completed_indexes: str = ""


class _Job(Job, frozen=True):
    """The fields that the controller of Jobs reads."""

    spec: _Spec = _Spec()
    status: _Status = _Status()


class _CronSpec(Wire, frozen=True):
    job_template: JobTemplate | None = None


class _CronJob(Wire, frozen=True):
    spec: _CronSpec = _CronSpec()


def job(source: Source) -> Iterator[Body]:
    """Yield the pods of a Job. Raises InvalidField that names the field and the value."""
    present = _present(source)
    more = _absent(source, present)
    if more:
        source.notes.append(
            f"the status of Job {source.name} counts {more} more active pods than the input has: "
            "they are added"
        )
    return job_sets.admitted(source, pods_of(source.body, present), present)


def cron_job(source: Source) -> Iterator[Body]:
    """Yield the Job of one run; none for a CronJob from a cluster, which is not due now.

    Raises InvalidField that names the field and the value.
    """
    if source.read(_CronJob).spec.job_template is None:
        raise InvalidField("spec.jobTemplate", None, "is required")
    if source.from_cluster:
        return
    template = source.body["spec"]["jobTemplate"]
    metadata = controllers.merged(template.get("metadata", {}), {}, {})
    yield {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **controllers.owned(source.body, f"{source.name}-00000")},
        "spec": template.get("spec", {}),
    }


def _present(source: Source) -> list[Body]:
    """Return the pods of a Job in the input, by their controller or by a label with its name."""
    found = (source.pods({key: source.name}) for key in JOB_NAMES)
    return [*{each["metadata"]["name"]: each for pods in found for each in pods}.values()]


def _absent(source: Source, present: Iterable[Body]) -> int:
    """Return how many pods of a Job run according to its status, but are not in the input."""
    if source.read(Workload).has_ended:
        return 0
    return max(0, source.read(_Job).status.active - sum(map(is_active, present)))


def pods_of(job: Body, present: Collection[Body] = ()) -> Iterator[Body]:
    """Yield the pods that the controller of a started Job creates in addition to `present`.

    Raises InvalidField that names the field and the value.
    """
    source = fields.read(job, _Job)
    if "template" not in job.get("spec", {}):
        raise InvalidField("spec.template", None, "is required")
    controllers.check_template(source.spec.template, "spec.template")
    name = job["metadata"]["name"]
    known = {
        **dict.fromkeys(JOB_NAMES, name),
        **dict.fromkeys(JOB_UIDS, controllers.uid_label(job)),
    }
    for index in _missing(source, present):
        indexed = {INDEX: str(index)} if source.spec.completion_mode == INDEXED else {}
        labels = {**known, **indexed}
        yield controllers.pod(job, job["spec"]["template"], f"{name}-{index}", labels, indexed)


def _missing(job: _Job, present: Collection[Body]) -> Iterator[int]:
    """Return the indexes of the pods that are missing, lowest first.

    Pods of a Job that is not indexed get numbers that no other pod has.
    """
    done = _done(job, present)
    number = _number_of_pods(job, len(done), present)
    controllers.check_number(number, "spec.parallelism")
    if job.spec.completion_mode == INDEXED:
        taken = done | {_index(pod) for pod in present if _is_held(pod, job)}
    else:
        own = f"{job.metadata.name}-"
        taken = {_number(pod["metadata"]["name"].removeprefix(own)) for pod in present}
    return itertools.islice((i for i in itertools.count() if i not in taken), max(0, number))


def _done(job: _Job, present: Iterable[Body]) -> set[int]:
    """Return the indexes that need no other pod; an empty set if the Job is not indexed."""
    if job.spec.completion_mode != INDEXED:
        return set()
    status = job.status
    succeeded = {_index(pod) for pod in present if phase(pod) == "Succeeded"}
    return {*_indexes(status.completed_indexes), *_indexes(status.failed_indexes), *succeeded}


def _number_of_pods(job: _Job, done: int, present: Collection[Body]) -> int:
    """Return how many more pods a Job may run now; `done` indexes need no pod."""
    spec = job.spec
    phases = [phase(pod) for pod in present]
    succeeded = max(job.status.succeeded, phases.count("Succeeded"), done)
    failed = max(job.status.failed, phases.count("Failed"))
    limit = BACKOFF_LIMIT if spec.backoff_limit is None else spec.backoff_limit
    if failed > limit and spec.backoff_limit_per_index is None:
        return 0
    if spec.completions is None and succeeded:
        return 0
    held = sum(_is_held(pod, job) for pod in present)
    return min(spec.parallelism, spec.all_completions - succeeded) - held


def _is_held(pod: Body, job: _Job) -> bool:
    """Return whether a Job creates no replacement of this pod for now."""
    by_policy = "Failed" if job.spec.pod_failure_policy.rules else ""
    waits_for_end = (job.spec.pod_replacement_policy or by_policy) == "Failed"
    ends = waits_for_end and is_deleting(pod) and phase(pod) not in ("Succeeded", "Failed")
    return ends or is_active(pod)


def _index(pod: Body) -> int:
    """Return the completion index of a pod, -1 without one."""
    given = (part(pod, "metadata", where) for where in ("labels", "annotations"))
    found = (each[INDEX] for each in given if INDEX in each)
    return _number(str(next(found, "")))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < LONGEST_INDEX else -1


def _indexes(text: str) -> Iterator[int]:
    """Yield the indexes listed in a text such as 1,3-5,7."""
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        yield from range(_number(first), min(_number(last or first), controllers.MOST_PODS) + 1)


def _completions_field(job: Body) -> Path | None:
    """Return the path of `completions` if an Indexed Job has as many pods at once; None otherwise.

    The API server lets both fields change together, and to the same number.
    """
    spec = job.get("spec") or {}
    completions = spec.get("completions")
    is_same = completions is not None and completions == spec.get("parallelism", 1)
    is_indexed = spec.get("completionMode") == INDEXED
    return ("spec", "completions") if is_indexed and is_same else None


JOB: Final = Kind(
    name=refs.JOB.name,
    versions=(JOBS,),
    struct=Job,
    read=read,
    pods=_PODS,
    creates=job,
    pod_count=lambda body: fields.read(body, Job).spec.at_once,
    suspend=Suspend(thaws=False),
    replicas=ReplicaField(
        lambda *_: ("spec", "parallelism"),
        drops_highest=lambda job: _completions_field(job) is not None,
        same_number_field=_completions_field,
    ),
    controller="kubernetes.io/job-controller",
    plain_keys=frozenset({JOB_NAMES[-1], JOB_UIDS[-1]}),
)
CRON_JOB: Final = Kind(
    name="CronJob",
    versions=served("cronjobs.batch", "v1"),
    creates=cron_job,
    starts_owned=False,
)
