"""The pods that the controllers of Jobs and JobSets would create."""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.simulation import names
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.jobs import Job, JobSet
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.structs import Count, Wire

INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")
JOB_SET_JOB = "jobset.sigs.k8s.io/job-index"

MOST_PODS = 100_000
"""As many pods as an indexed Job can have. A larger number is a mistake, and fills the memory."""

INDEXED: Final = "Indexed"
LONGEST_INDEX: Final = 10
ENDED: Final = frozenset({"Complete", "Completed", "Failed", "FailureTarget", "SuccessCriteriaMet"})
"""Conditions of Jobs and JobSets that have ended, or are about to."""
SUSPENDED: Final = "Suspended"
CONTROLLERS: Final = frozenset(
    {"", "kubernetes.io/job-controller", "jobset.sigs.k8s.io/jobset-controller"}
)

Body = Mapping[str, Any]


class _Spec(Wire, frozen=True):
    """What else the controllers of Jobs and JobSets go by."""

    suspend: bool = False
    managed_by: str = ""
    completion_mode: str = ""
    backoff_limit: Count = 6
    backoff_limit_per_index: Count | None = None
    pod_failure_policy: dict[str, Any] | None = None
    pod_replacement_policy: str = ""


class _Status(Wire, frozen=True):
    conditions: list[Condition] = field(default_factory=list)
    active: Count = 0
    failed: Count = 0
    completed_indexes: str = ""
    failed_indexes: str = ""


class _Workload(Wire, frozen=True):
    """A Job or JobSet, as far as it says what its controller does now."""

    metadata: Metadata = Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    @property
    def has_ended(self) -> bool:
        """Whether the controller creates nothing more, whatever is missing."""
        return self._is_any(ENDED) or bool(self.metadata.deletion_timestamp)

    @property
    def was_suspended(self) -> bool:
        """Whether the controller has seen that it is suspended."""
        return self._is_any({SUSPENDED})

    @property
    def is_elsewhere(self) -> bool:
        """Whether another controller than that of Kubernetes creates the pods."""
        return self.spec.managed_by not in CONTROLLERS

    def _is_any(self, types: Collection[str]) -> bool:
        return any(each.type in types and each.status == "True" for each in self.status.conditions)


def is_started(body: Body, *, from_cluster: bool) -> bool:
    """Return whether the controller of a Job or JobSet creates what is missing.

    One that is suspended is taken as started unless it has been on a cluster: before it is there,
    the question is what becomes of it then. Raises InvalidField.
    """
    workload = fields.read(body, _Workload)
    waits = workload.spec.suspend and (from_cluster or workload.was_suspended)
    return not (waits or workload.has_ended or workload.is_elsewhere)


def absent(job: Body, present: Iterable[Body]) -> int:
    """Return how many pods of a Job run, as its status says, and are not in the input."""
    workload = fields.read(job, _Workload)
    if workload.has_ended:
        return 0
    return max(0, workload.status.active - sum(map(_is_active, present)))


def pods_of_job(job: Body, present: Collection[Body] = ()) -> Iterator[Body]:
    """Yield the pods that the controller of a started Job creates beside those that are there.

    Raises InvalidField that names the field and the value.
    """
    source = fields.read(job, Job)
    if "template" not in job.get("spec", {}):
        raise InvalidField("spec.template", None, "is required")
    template = source.spec.template.metadata
    names.check_labels(template.labels, template.annotations, "spec.template.metadata")
    name = job["metadata"]["name"]
    for index in _missing(source, fields.read(job, _Workload), present):
        numbered = {INDEX: str(index)}
        labels = {**dict.fromkeys(JOB_NAMES, name), **numbered}
        pod = _from_template(job["spec"]["template"], labels, numbered)
        yield {**pod, "metadata": {**pod["metadata"], **owned(job, "Job", f"{name}-{index}")}}


def _missing(job: Job, workload: _Workload, present: Collection[Body]) -> Iterator[int]:
    """Return the indexes of the pods that are to be created, the lowest ones first.

    Pods of a Job that is not indexed are numbered, too; their numbers are those of no other pod.
    """
    done = _done(workload, present)
    number = _number_of_pods(job, workload, len(done), present)
    if number > MOST_PODS:
        raise InvalidField("spec.parallelism", number, f"must be at most {MOST_PODS} here")
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
    succeeded = {_index(pod) for pod in present if _phase(pod) == "Succeeded"}
    return {*_indexes(status.completed_indexes), *_indexes(status.failed_indexes), *succeeded}


def _number_of_pods(job: Job, workload: _Workload, done: int, present: Collection[Body]) -> int:
    """Return how many more pods a Job runs at once."""
    parallelism, completions = job.spec.parallelism, job.spec.completions
    phases = [_phase(pod) for pod in present]
    succeeded = max(job.status.succeeded, phases.count("Succeeded"), done)
    failed = max(workload.status.failed, phases.count("Failed"))
    if failed > workload.spec.backoff_limit and workload.spec.backoff_limit_per_index is None:
        return 0
    if completions is None and succeeded:
        return 0
    held = sum(_is_held(pod, workload) for pod in present)
    total = parallelism if completions is None else completions
    return min(parallelism, total - succeeded) - held


def _is_active(pod: Body) -> bool:
    return _phase(pod) not in ("Succeeded", "Failed") and not _is_deleting(pod)


def _is_held(pod: Body, workload: _Workload) -> bool:
    """Return whether no other pod is created in place of this one, as long as it is there."""
    spec = workload.spec
    by_policy = "Failed" if spec.pod_failure_policy is not None else ""
    waits_for_end = (spec.pod_replacement_policy or by_policy) == "Failed"
    ends = waits_for_end and _is_deleting(pod) and _phase(pod) not in ("Succeeded", "Failed")
    return ends or _is_active(pod)


def _is_deleting(pod: Body) -> bool:
    return bool(pod["metadata"].get("deletionTimestamp"))


def _phase(pod: Body) -> object:
    status = pod.get("status")
    return status.get("phase") if isinstance(status, Mapping) else None


def _index(pod: Body) -> int:
    """Return the completion index of a pod, -1 without one."""
    metadata = pod["metadata"]
    given = (metadata.get(where) for where in ("labels", "annotations"))
    found = (each[INDEX] for each in given if isinstance(each, Mapping) and INDEX in each)
    return _number(str(next(found, "")))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < LONGEST_INDEX else -1


def _indexes(text: str) -> Iterator[int]:
    """Yield the indexes of a text such as 1,3-5,7."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(_number(first), min(_number(last or first), MOST_PODS) + 1)


def jobs_of_job_set(job_set: Body) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    source = fields.read(job_set, JobSet)
    set_name = job_set["metadata"]["name"]
    for i, replicated in enumerate(job_set.get("spec", {}).get("replicatedJobs", [])):
        where, number = f"spec.replicatedJobs[{i}]", source.spec.replicated_jobs[i].replicas
        if "name" not in replicated:
            raise InvalidField(f"{where}.name", None, "is required")
        if "template" not in replicated.get("template", {}).get("spec", {}):
            raise InvalidField(f"{where}.template.spec.template", None, "is required")
        if number > MOST_PODS:
            raise InvalidField(f"{where}.replicas", number, f"must be at most {MOST_PODS} here")
        for index in range(number):
            labels = {
                JOB_SET_LABEL: set_name,
                REPLICATED_JOB_LABEL: replicated["name"],
                JOB_SET_JOB: str(index),
            }
            yield _job(job_set, replicated, f"{set_name}-{replicated['name']}-{index}", labels)


def _job(job_set: Body, replicated: Body, name: str, labels: Mapping[str, str]) -> Body:
    template = replicated.get("template", {})
    spec = template.get("spec", {})
    pod = _from_template(spec.get("template", {}), labels, labels)
    metadata = _merged(template.get("metadata", {}), labels, labels)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **owned(job_set, "JobSet", name)},
        # A JobSet that is started starts its Jobs, whatever the template says.
        "spec": {
            **spec,
            "suspend": False,
            "template": {"metadata": pod["metadata"], "spec": pod["spec"]},
        },
    }


def _from_template(
    template: Body, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _merged(template.get("metadata", {}), labels, annotations),
        "spec": template.get("spec", {}),
    }


def _merged(
    metadata: Body, labels: Mapping[str, str], annotations: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "labels": {**metadata.get("labels", {}), **labels},
        "annotations": {**metadata.get("annotations", {}), **annotations},
    }


def owned(owner: Body, kind: str, name: str) -> dict[str, Any]:
    """Return the metadata of an object that the owner's controller creates."""
    given = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": kind,
        "name": given["name"],
        "uid": given["uid"],
        "controller": True,
    }
    times = {key: given[key] for key in ("creationTimestamp",) if key in given}
    return {
        **times,
        "name": name,
        "namespace": given["namespace"],
        "uid": f"{given['uid']}/{name}",
        "ownerReferences": [reference],
    }
