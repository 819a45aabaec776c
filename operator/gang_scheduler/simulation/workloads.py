"""The pods that the controllers of Jobs and JobSets would create."""

from collections.abc import Iterator, Mapping
from typing import Any

from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.wire.jobs import Job, JobSet

INDEX = "batch.kubernetes.io/job-completion-index"
JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")
JOB_SET_JOB = "jobset.sigs.k8s.io/job-index"

MOST_PODS = 100_000
"""As many pods as an indexed Job can have. A larger number is a mistake, and fills the memory."""

Body = Mapping[str, Any]


def pods_of_job(job: Body) -> Iterator[Body]:
    """Yield the pods of a Job that has just been started, suspended or not.

    Raises InvalidField that names the field and the value.
    """
    source = fields.read(job, Job)
    if "template" not in job.get("spec", {}):
        raise InvalidField("spec.template", None, "is required")
    number = _number_of_pods(source)
    if number > MOST_PODS:
        raise InvalidField("spec.parallelism", number, f"must be at most {MOST_PODS} here")
    name = job["metadata"]["name"]
    for index in range(number):
        numbered = {INDEX: str(index)}
        labels = {**dict.fromkeys(JOB_NAMES, name), **numbered}
        pod = _from_template(job["spec"]["template"], labels, numbered)
        yield {**pod, "metadata": {**pod["metadata"], **owned(job, "Job", f"{name}-{index}")}}


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


def _number_of_pods(job: Job) -> int:
    """Return how many pods a Job runs at once."""
    parallelism, completions = job.spec.parallelism, job.spec.completions
    total = parallelism if completions is None else completions
    return max(0, min(parallelism, total - job.status.succeeded))


def _job(job_set: Body, replicated: Body, name: str, labels: Mapping[str, str]) -> Body:
    template = replicated.get("template", {})
    spec = template.get("spec", {})
    pod = _from_template(spec.get("template", {}), labels, labels)
    metadata = _merged(template.get("metadata", {}), labels, labels)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **owned(job_set, "JobSet", name)},
        "spec": {**spec, "template": {"metadata": pod["metadata"], "spec": pod["spec"]}},
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
