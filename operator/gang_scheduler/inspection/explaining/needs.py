"""Objects that must be created or fixed before a gang can start, and the role that can do so.

A cycle cannot try these changes: too little is known of the missing objects.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gang_scheduler.inspection.explaining.first_sentence import joined_with_and, listed
from gang_scheduler.model.causes.queues import QueueFault, QueueUnusable
from gang_scheduler.model.causes.specs import (
    FieldsUnsupported,
    GangMissing,
    MinMemberAboveJobs,
    ObjectMissing,
    PriorityClassMissing,
    Requested,
    UnknownLayers,
)
from gang_scheduler.model.consequences import Fixer
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Cause
from gang_scheduler.scheduler.explanation.findings import ClassNodes, Explanation, Part
from gang_scheduler.workloads import table

CLAIM: Final = re.compile(r'persistentvolumeclaim "([^"]+)" not found')
CREATE: Final = "create it"
BACK: Final = {
    "node(s) were unschedulable": ("spec.unschedulable", "false, as kubectl uncordon sets it"),
    "node(s) were not ready": ("", "bring the node back, or add another one"),
}
"""Filters' reasons for nodes that the platform team can repair: the field, and its value."""


class Need(Part, frozen=True, kw_only=True):
    """A change to an object or to its `field`, and the role that can make it."""

    object: str
    field: str | None = None
    value: str
    by: Fixer


def of(found: Explanation) -> tuple[Need, ...]:
    """Return the needs of a waiting gang, except room and quota."""
    if found.refused is None:
        return ()
    needed = (
        *_of_cause(found.refused.cause),
        *_of_jobs(found.refused),
        *_of_claims(found.refused),
        *_of_layer(found.refused),
        *(need for each in found.nodes if not each.fitting for need in _of_nodes(each)),
    )
    return tuple(dict.fromkeys(needed))


def _need(named: str, value: str, by: Fixer, field: str = "") -> Need:
    return Need(object=named, field=field or None, value=value, by=by)


def _of_cause(cause: Cause | None) -> Iterator[Need]:
    field = ""
    while isinstance(cause, Requested):
        field, cause = cause.field, cause.cause
    look = _CAUSES.get(type(cause)) if cause is not None else None
    if look is not None:
        yield from look(cause, field)


def _object(cause: ObjectMissing, _: str) -> Iterator[Need]:
    yield _need(f"{cause.kind} {cause.gang}", f"{CREATE}, or name one that exists", Fixer.SUBMITTER)


def _gang(cause: GangMissing, _: str) -> Iterator[Need]:
    yield _need(f"gang {cause.name}", f"{CREATE}, or take it out of the group", Fixer.SUBMITTER)


def _priority_class(cause: PriorityClassMissing, _: str) -> Iterator[Need]:
    yield _need(f"WorkloadPriorityClass {cause.name}", CREATE, Fixer.PLATFORM)


def _queue(cause: QueueUnusable, _: str) -> Iterator[Need]:
    if cause.fault is QueueFault.NOT_FOUND:
        yield _need(f"{cause.kind} {cause.queue}", CREATE, Fixer.QUEUE_ADMIN)


def _layers(cause: UnknownLayers, field: str) -> Iterator[Need]:
    if cause.known:
        yield _need(
            field or "its topology request", f"one of {', '.join(cause.known)}", Fixer.SUBMITTER
        )
    yield _need(
        "ClusterNetworkTopology default",
        f"a layer {joined_with_and(cause.layers)}, and its label on the nodes",
        Fixer.PLATFORM,
        "spec.networkTopologySpec",
    )


def _unsupported(cause: FieldsUnsupported, _: str) -> Iterator[Need]:
    of = f"pod {cause.pod}" if cause.pod else "the PodGroup"
    yield _need(of, "none: it is not supported", Fixer.SUBMITTER, listed(cause.fields))


_CAUSES: Final[Mapping[type[Cause], Callable[..., Iterator[Need]]]] = {
    ObjectMissing: _object,
    GangMissing: _gang,
    PriorityClassMissing: _priority_class,
    QueueUnusable: _queue,
    UnknownLayers: _layers,
    FieldsUnsupported: _unsupported,
}


def _of_jobs(refused: Refused) -> Iterator[Need]:
    """Yield the need for a lower minMember, if the Jobs of a gang create fewer pods."""
    cause = refused.cause
    if isinstance(cause, MinMemberAboveJobs):
        kind = table.BY_NAME[refused.gang.key.source].object_kind or "gang"
        jobs = f"Job{'s' * (len(cause.jobs) > 1)} {joined_with_and(cause.jobs)}"
        value = f"{cause.most}: all that {jobs} can have at once"
        yield _need(f"{kind} {refused.gang.key}", value, Fixer.SUBMITTER, "minMember")


def _of_claims(refused: Refused) -> Iterator[Need]:
    """Yield the missing claims of members, as one need."""
    names: dict[str, None] = {}
    for pod in refused.gang.pending:
        storage = pod.pod_class.storage
        if storage is not None:
            found = CLAIM.findall(storage.problem)
            names |= dict.fromkeys(f"{pod.namespace}/{each}" for each in found)
    if names:
        yield _need(f"PersistentVolumeClaim {listed([*names])}", CREATE, Fixer.SUBMITTER)


def _of_layer(refused: Refused) -> Iterator[Need]:
    """Yield the need for a label on nodes, if no node has the label of a required layer."""
    unlabelled = refused.misfit.unlabelled if refused.misfit is not None else None
    if unlabelled is not None:
        keys = " or ".join(unlabelled.label_keys)
        yield _need(
            "the nodes", "the name of the domain", Fixer.PLATFORM, f"metadata.labels {keys}"
        )


def _of_nodes(found: ClassNodes) -> Iterator[Need]:
    """Yield the need to bring back cordoned and unready nodes."""
    for each in found.reasons:
        if each.reason in BACK:
            field, value = BACK[each.reason]
            more = f" and {each.nodes - len(each.some)} more" if each.nodes > len(each.some) else ""
            node = "Node" if each.nodes == 1 else "Nodes"
            yield _need(f"{node} {', '.join(each.some)}{more}", value, Fixer.PLATFORM, field)
