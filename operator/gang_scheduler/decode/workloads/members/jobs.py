"""The pods that the controller of Jobs would create, and the Job of a CronJob."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.workloads import exclusive_topology
from gang_scheduler.decode.workloads.members import bodies, job_sets
from gang_scheduler.decode.workloads.members.lifecycle import Workload
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source, is_active, is_deleting, phase
from gang_scheduler.wire.structs import Count, Wire
from gang_scheduler.wire.workloads.jobs import Job, JobTemplate

INDEX: Final = "batch.kubernetes.io/job-completion-index"
JOB_NAMES: Final = ("batch.kubernetes.io/job-name", "job-name")
JOB_UIDS: Final = ("batch.kubernetes.io/controller-uid", "controller-uid")
INDEXED: Final = "Indexed"
LONGEST_INDEX: Final = 10

Body = Mapping[str, Any]


class _Spec(Wire, frozen=True):
    """What else the controller of Jobs goes by."""

    completion_mode: str = ""
    backoff_limit: Count = 6
    backoff_limit_per_index: Count | None = None
    pod_failure_policy: dict[str, Any] | None = None
    pod_replacement_policy: str = ""


class _Status(Wire, frozen=True):
    active: Count = 0
    failed: Count = 0
    completed_indexes: str = ""
    failed_indexes: str = ""


class _Workload(Wire, frozen=True):
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
            f"Job {source.name} has {more} more active, by its status, than pods here: "
            "they are made anew"
        )
    pods = pods_of(source.body, present)
    own = part(source.body, "spec", "template", "metadata", "annotations")
    if not exclusive_topology.layer_of(own):
        return pods
    admitted = (job_sets.admitted(source, each, present) for each in pods)
    return (each for each in admitted if each is not None)


def cron_job(source: Source) -> Iterator[Body]:
    """Yield the Job of one run; of one from a cluster none, as its time has not come.

    Raises InvalidField that names the field and the value.
    """
    if source.read(_CronJob).spec.job_template is None:
        raise InvalidField("spec.jobTemplate", None, "is required")
    if source.from_cluster:
        return
    template = source.body["spec"]["jobTemplate"]
    metadata = bodies.merged(template.get("metadata", {}), {}, {})
    yield {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **bodies.owned(source.body, f"{source.name}-00000")},
        "spec": template.get("spec", {}),
    }


def _present(source: Source) -> list[Body]:
    """Return the pods of a Job: by their controller, else by one of its labels."""
    found = (source.pods({key: source.name}) for key in JOB_NAMES)
    return [*{each["metadata"]["name"]: each for pods in found for each in pods}.values()]


def _absent(source: Source, present: Iterable[Body]) -> int:
    """Return how many pods of a Job run, as its status says, and are not in the input."""
    if source.read(Workload).has_ended:
        return 0
    return max(0, source.read(_Workload).status.active - sum(map(is_active, present)))


def pods_of(job: Body, present: Collection[Body] = ()) -> Iterator[Body]:
    """Yield the pods that the controller of a started Job creates beside those that are there.

    Raises InvalidField that names the field and the value.
    """
    source = fields.read(job, Job)
    if "template" not in job.get("spec", {}):
        raise InvalidField("spec.template", None, "is required")
    bodies.check_template(source.spec.template, "spec.template")
    name, workload = job["metadata"]["name"], fields.read(job, _Workload)
    known = {
        **dict.fromkeys(JOB_NAMES, name),
        **dict.fromkeys(JOB_UIDS, bodies.uid_label(job)),
    }
    for index in _missing(source, workload, present):
        indexed = {INDEX: str(index)} if workload.spec.completion_mode == INDEXED else {}
        labels = {**known, **indexed}
        yield bodies.pod(job, job["spec"]["template"], f"{name}-{index}", labels, indexed)


def _missing(job: Job, workload: _Workload, present: Collection[Body]) -> Iterator[int]:
    """Return the indexes of the pods that are to be created, the lowest ones first.

    Pods of a Job that is not indexed are numbered, too; their numbers are those of no other pod.
    """
    done = _done(workload, present)
    number = _number_of_pods(job, workload, len(done), present)
    bodies.check_number(number, "spec.parallelism")
    if workload.spec.completion_mode == INDEXED:
        taken = done | {_index(pod) for pod in present if _is_held(pod, workload)}
    else:
        own = f"{job.metadata.name}-"
        taken = {_number(pod["metadata"]["name"].removeprefix(own)) for pod in present}
    return itertools.islice((i for i in itertools.count() if i not in taken), max(0, number))


def _done(workload: _Workload, present: Iterable[Body]) -> set[int]:
    """Return the indexes of which no pod is wanted any more; empty if pods have none."""
    if workload.spec.completion_mode != INDEXED:
        return set()
    status = workload.status
    succeeded = {_index(pod) for pod in present if phase(pod) == "Succeeded"}
    return {*_indexes(status.completed_indexes), *_indexes(status.failed_indexes), *succeeded}


def _number_of_pods(job: Job, workload: _Workload, done: int, present: Collection[Body]) -> int:
    """Return how many more pods a Job runs at once."""
    parallelism, completions = job.spec.parallelism, job.spec.completions
    phases = [phase(pod) for pod in present]
    succeeded = max(job.status.succeeded, phases.count("Succeeded"), done)
    failed = max(workload.status.failed, phases.count("Failed"))
    if failed > workload.spec.backoff_limit and workload.spec.backoff_limit_per_index is None:
        return 0
    if completions is None and succeeded:
        return 0
    held = sum(_is_held(pod, workload) for pod in present)
    total = parallelism if completions is None else completions
    return min(parallelism, total - succeeded) - held


def _is_held(pod: Body, workload: _Workload) -> bool:
    """Return whether no other pod is created in place of this one, as long as it is there."""
    spec = workload.spec
    by_policy = "Failed" if spec.pod_failure_policy is not None else ""
    waits_for_end = (spec.pod_replacement_policy or by_policy) == "Failed"
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
    """Yield the indexes of a text such as 1,3-5,7."""
    for span in filter(None, text.split(",")):
        first, _, last = span.partition("-")
        yield from range(_number(first), min(_number(last or first), bodies.MOST_PODS) + 1)
