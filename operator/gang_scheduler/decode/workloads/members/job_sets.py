"""The Jobs that the controller of JobSets would create."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.decode.workloads.members.source import Source
from gang_scheduler.wire.workloads.jobs import JobSet

PREFIX: Final = "jobset.sigs.k8s.io/"
DEFAULT_GROUP: Final = "default"

Body = Mapping[str, Any]


def job_set(source: Source) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    return jobs_of(source.body)


def train_job(source: Source) -> Iterator[Body]:
    """Yield nothing: what a TrainJob runs is in its runtime, of which its JobSet is made."""
    group = "jobset.x-k8s.io"
    if source.present.find("JobSet", group, source.namespace, source.name) is None:
        source.notes.append(
            f"TrainJob {source.name} runs as a JobSet that its controller makes of its runtime: "
            f"the input has no JobSet {source.name}, so it has no pods here"
        )
    return iter(())


def jobs_of(job_set: Body) -> Iterator[Body]:
    """Yield the Jobs of a JobSet. Raises InvalidField that names the field and the value."""
    source = fields.read(job_set, JobSet)
    given = job_set.get("spec", {}).get("replicatedJobs", [])
    numbers = [each.replicas for each in source.spec.replicated_jobs]
    groups = [each.get("groupName", DEFAULT_GROUP) for each in given]
    for i, replicated in enumerate(given):
        where, number = f"spec.replicatedJobs[{i}]", numbers[i]
        if "name" not in replicated:
            raise InvalidField(f"{where}.name", None, "is required")
        if "template" not in replicated.get("template", {}).get("spec", {}):
            raise InvalidField(f"{where}.template.spec.template", None, "is required")
        bodies.check_number(number, f"{where}.replicas")
        mates = [
            each if group == groups[i] else 0 for each, group in zip(numbers, groups, strict=True)
        ]
        for index in range(number):
            name = f"{job_set['metadata']['name']}-{replicated['name']}-{index}"
            labels = {
                JOB_SET_LABEL: job_set["metadata"]["name"],
                REPLICATED_JOB_LABEL: replicated["name"],
                f"{PREFIX}jobset-uid": bodies.uid_label(job_set),
                f"{PREFIX}job-key": _sha1(f"{job_set['metadata']['namespace']}/{name}"),
                f"{PREFIX}replicatedjob-replicas": str(number),
                f"{PREFIX}job-index": str(index),
                f"{PREFIX}job-global-index": str(sum(numbers[:i]) + index),
                f"{PREFIX}global-replicas": str(sum(numbers)),
                f"{PREFIX}group-name": str(groups[i]),
                f"{PREFIX}group-replicas": str(sum(mates)),
                f"{PREFIX}job-group-index": str(sum(mates[:i]) + index),
                f"{PREFIX}restart-attempt": "0",
            }
            yield _job(job_set, replicated, name, labels)


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


def _job(job_set: Body, replicated: Body, name: str, labels: Mapping[str, str]) -> Body:
    template = replicated.get("template", {})
    spec = template.get("spec", {})
    pod = bodies.from_template(spec.get("template", {}), labels, labels)
    metadata = bodies.merged(template.get("metadata", {}), labels, labels)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {**metadata, **bodies.owned(job_set, name)},
        # A JobSet that is started starts its Jobs, whatever the template says.
        "spec": {
            "completionMode": "Indexed",
            **spec,
            "suspend": False,
            "template": {"metadata": pod["metadata"], "spec": pod["spec"]},
        },
    }
