"""What workloads ask for that no scheduler reads of them: on a cluster nothing would say so."""

from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields, keys
from gang_scheduler.decode.pods.membership import named_gang_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import misplaced_requests, queue_namers
from gang_scheduler.decode.workloads.kind import asks
from gang_scheduler.simulation.documents import Document
from gang_scheduler.wire.metadata import MetadataOnly
from gang_scheduler.wire.pods import Pod, PodTemplate
from gang_scheduler.wire.workloads.jobs import Job

KINDS: Final = {
    **dict.fromkeys(("Deployment", "ReplicaSet", "DaemonSet"), ("apps/", "spec.template")),
    "CronJob": ("batch/", "spec.jobTemplate"),
}
"""Kinds of which only what they make is read, with the template of that."""


def note(document: Document) -> str:
    """Return what such a workload asks for beside its pod template; "" for nothing."""
    body = document.body
    group, template = KINDS.get(body["kind"], ("", ""))
    if not group or not body["apiVersion"].startswith(group):
        return ""
    try:
        metadata = fields.read(body, MetadataOnly).metadata
    except InvalidField:
        return ""  # What is wrong is told where the workload is read.
    found = [misplaced_requests.beside_template(metadata)]
    if body["kind"] not in queue_namers.KINDS:
        found += (
            f"{keys.label_field(key)} belongs in {template}.metadata.labels"
            for key in naming.LABELS
            if key in metadata.labels
        )
    faults = "; ".join(filter(None, found))
    named = f"{body['kind']} {metadata.name}"
    return f"{document.place}: {named}, which is not read on a cluster: {faults}" if faults else ""


def apart(document: Document) -> str:
    """Return that the pods of a Job start one by one, which Kueue would admit whole; "" for others.

    Kueue does so for the label of its queue, which says nothing of gangs here: of a pod alone it
    cannot be told how many there are to be.
    """
    body = document.body
    if (body["kind"], body["apiVersion"]) != ("Job", "batch/v1"):
        return ""
    try:
        job = fields.read(body, Job)
    except InvalidField:
        return ""  # What is wrong is told where the workload is read.
    template = job.spec.template
    is_one = job.spec.at_once <= 1 or job.spec.suspend or job.left <= 0
    if is_one or annotations.KUEUE_QUEUE not in job.metadata.labels or _says(template):
        return ""
    gang = keys.label_field(annotations.JOB_GANG_LABEL)
    return (
        f"{document.place}: Job {job.metadata.name}: each of its {job.spec.at_once} pods starts by "
        f"itself, where Kueue would admit the Job whole. spec.template.{gang} says whether they "
        'start together: "true" or "false"'
    )


def _says(template: PodTemplate) -> bool:
    """Return whether a pod template says whether its pods are a gang."""
    metadata = template.metadata
    return (
        annotations.JOB_GANG_LABEL in metadata.labels
        or annotations.KUEUE_POD_GROUP in metadata.labels
        or asks(template)
        or named_gang_of(Pod(metadata, template.spec)) is not None
    )
