"""What workloads ask for that no scheduler reads of them: on a cluster nothing would say so."""

from typing import Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields, keys
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import misplaced_requests, queue_namers
from gang_scheduler.simulation.documents import Document
from gang_scheduler.wire.metadata import MetadataOnly

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
