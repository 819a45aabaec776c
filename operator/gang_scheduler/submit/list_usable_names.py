"""Reads the names that a job may use from a cluster, as far as the user may list them."""

from collections.abc import Mapping
from typing import Any, Final

from gang_scheduler.api.kinds import GVR, NODES, PRIORITY_CLASSES, QUEUES, RESOURCE_FLAVORS
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.inspection import live
from gang_scheduler.inspection.servers import Server
from gang_scheduler.submit.members import GPU_PRODUCT
from gang_scheduler.submit.objects import RESOURCES
from gang_scheduler.submit.training_job import JobType, TrainingJob
from gang_scheduler.submit.usable_names import PriorityClass, UsableNames
from gang_scheduler.watch import list_once

ABSENT: Final = (Kind.GONE, Kind.REFUSED, Kind.DENIED)
"""Answers that mean that the user may not list a kind, or that it is not served."""
Bodies = list[dict[str, Any]]


async def read(server: Server, job: TrainingJob) -> UsableNames:
    """Return the names that matter for a job. Raises ApiError if the server does not answer.

    Lists nodes only if the job names a type of GPU, and other kinds only if the job names an object
    of the kind.
    """
    operator = await live.read_profiles(server)
    names_priority = job.priority is not None or job.priority_class or job.preemption_policy
    classes = await _listed(server, PRIORITY_CLASSES) if names_priority else None
    queues = await _listed(server, QUEUES) if job.queue else None
    flavors = await _listed(server, RESOURCE_FLAVORS) if job.gpu_type else None
    nodes = await _listed(server, NODES) if job.gpu_type else None
    return UsableNames(
        scheduler=operator.policy.rules.gangs.scheduler_names[0],
        priority_classes=None if classes is None else _priorities(classes),
        queues=None if queues is None else frozenset(_name(each) for each in queues),
        flavors=None if flavors is None else {_name(each): _labels(each) for each in flavors},
        gpu_types=None if nodes is None else _types(nodes),
        kinds=await _served(server, job.job_type),
        managed=frozenset(each.value for each in operator.policy.rules.workloads.manage_jobs),
        notes=operator.notes,
    )


async def _listed(server: Server, gvr: GVR) -> Bodies | None:
    """Return the objects of a kind; None if they may not be listed, or the kind is not served."""
    try:
        return await list_once.bodies(server.connection, gvr, page_seconds=server.request_seconds)
    except ApiError as error:
        if error.kind in ABSENT:
            return None
        raise


async def _served(server: Server, kind: JobType) -> frozenset[str] | None:
    """Return the kind if the cluster serves it, else nothing; None if that is unknown."""
    gvr = RESOURCES[kind]
    if kind is JobType.JOB:
        return frozenset({kind.value})
    try:
        answer = await server.connection.request("GET", f"/apis/{gvr.group}/{gvr.version}")
    except ApiError as error:
        if error.kind is Kind.GONE:
            return frozenset()
        if error.kind in ABSENT:
            return None
        raise
    return frozenset({kind.value}) if f'"{gvr.plural}"'.encode() in answer else frozenset()


def _name(body: Mapping[str, Any]) -> str:
    return str(body["metadata"]["name"])


def _labels(flavor: Mapping[str, Any]) -> dict[str, str]:
    return dict((flavor.get("spec") or {}).get("nodeLabels") or {})


def _priorities(bodies: Bodies) -> tuple[PriorityClass, ...]:
    """Return the PriorityClasses that users may name, the lowest first."""
    found = (
        PriorityClass(_name(each), int(each["value"]), each.get("preemptionPolicy") == "Never")
        for each in bodies
    )
    return tuple(sorted(found, key=lambda each: (each.value, each.name)))


def _types(nodes: Bodies) -> frozenset[str]:
    labels = ((each["metadata"].get("labels") or {}).get(GPU_PRODUCT, "") for each in nodes)
    return frozenset(each for each in labels if each)
