"""Workloads that name a queue for pods which do not name the workload.

Kueue's webhooks copy the name from a Deployment or a StatefulSet to its pods, and charge an
AppWrapper as a whole. Without these webhooks, only the object has the name.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from gang_scheduler.api.annotations import APP_WRAPPER_LABEL
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.pods import Pod
from gang_scheduler.wire.base import Metadata, MetadataOnly

Body = Mapping[str, Any]

STATEFUL_SET, DEPLOYMENT, APP_WRAPPER = "StatefulSet", "Deployment", "AppWrapper"
TEMPLATE_HASH: Final = "pod-template-hash"


def named_queue(kind: str, metadata: Metadata) -> GangObject:
    """Return an object with nothing but the queue that it names for its pods."""
    request = naming.request_of(metadata.labels, metadata.annotations)
    if request is None:
        return GangObject(metadata.uid)
    return GangObject(
        metadata.uid,
        workload=workload_of(kind, metadata.namespace, metadata.name),
        queue_request=request,
    )


def read_queue_namer(kind: str, body: Body) -> GangObject:
    """Return a body as an object with nothing but the queue that it names.

    Raises InvalidField if it cannot be read.
    """
    return named_queue(kind, fields.read(body, MetadataOnly).metadata)


def workload_of(kind: str, namespace: str, name: str) -> str:
    """Return the key under which the pods of an object find its queue."""
    return f"{kind} {namespace}/{name}"


def of_pod(pod: Pod) -> Iterator[str]:
    """Yield the keys of the objects that may name the queue of a pod, the nearest first."""
    if pod.stateful_set:
        yield workload_of(STATEFUL_SET, pod.namespace, pod.stateful_set)
    elif TEMPLATE_HASH in pod.labels:
        ending = f"-{pod.labels[TEMPLATE_HASH]}"
        if pod.owner.endswith(ending):
            yield f"{DEPLOYMENT} {pod.owner.removesuffix(ending)}"
    if wrapper := pod.labels.get(APP_WRAPPER_LABEL):
        yield workload_of(APP_WRAPPER, pod.namespace, wrapper)
