"""What workloads ask for that no scheduler reads of them: on a cluster nothing would say so."""

from typing import Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.workloads import misplaced_requests
from gang_scheduler.simulation.documents import Document
from gang_scheduler.wire.metadata import MetadataOnly

KINDS: Final = frozenset({"Deployment", "ReplicaSet", "DaemonSet"})
"""Kinds of apps/v1 of which only the pods are read."""
GROUP: Final = "apps/"


def note(document: Document) -> str:
    """Return what such a workload asks for beside its pod template; "" for nothing."""
    body = document.body
    if body["kind"] not in KINDS or not body["apiVersion"].startswith(GROUP):
        return ""
    try:
        metadata = fields.read(body, MetadataOnly).metadata
    except InvalidField:
        return ""  # What is wrong is told where the workload is read.
    faults = misplaced_requests.beside_template(metadata)
    named = f"{body['kind']} {metadata.name}"
    return f"{document.place}: {named}, which is not read on a cluster: {faults}" if faults else ""
