"""Reads of any kind of workloads which wait suspended in a queue, and what members they would have.

The members come of the same code that `simulate` expands workloads with. One pod of each template
is read in full: of the others only the name and the rank are their own.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import without_nulls
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.gangs.suspended_workloads import (
    Managed,
    Planned,
    SuspendedWorkload,
    VirtualGang,
)
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import planned_nodes, table
from gang_scheduler.decode.workloads.members import table as members
from gang_scheduler.decode.workloads.members.lifecycle import Workload
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.template_additions import without_additions
from gang_scheduler.model import gang_sources
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, GangName, QueueName, QueueRequest
from gang_scheduler.model.suspended import ManagedWorkload, MemberTemplate, TemplatePath
from gang_scheduler.model.virtual_pods import Slot, VirtualPods
from gang_scheduler.wire.metadata import Metadata

Body = Mapping[str, Any]
Read = Callable[[Body], GangObject]

KINDS: Final = frozenset(
    {
        *("Job", "JobSet", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"),
        *("MPIJob", "RayCluster"),
    }
)
"""Kinds that can be suspended, and that make pods of templates of their own."""
MAKERS: Final = frozenset({"CronJob"})
"""Kinds that leave it to others to suspend what they make: all other controllers do that."""
MOST_SIZES: Final = 4096
"""How many different lists of members are shared by the workloads that have them."""


def reading(kind: str, gvr: GVR, read: Read) -> Read:
    """Return what reads a kind, with what is said of those that are suspended, or were."""
    return functools.partial(_read, kind, gvr, read) if kind in KINDS else read


def _read(kind: str, gvr: GVR, read: Read, body: Body) -> GangObject:
    described = read(body)
    metadata = body["metadata"]
    admitted_at = (metadata.get("annotations") or {}).get(annotations.ADMITTED_AT)
    suspends = _suspends(body)
    if suspends == bool(admitted_at):
        return described
    given = without_additions(body)
    typed = without_nulls({"apiVersion": gvr.api_version, "kind": kind, **given})
    workload = fields.read(typed, Workload)
    if workload.has_ended or workload.is_elsewhere or _is_made(workload.metadata):
        return described
    ref = _ref(kind, workload.metadata)
    if admitted_at:
        since = fields.timestamp(admitted_at, fields.field(annotations.ADMITTED_AT))
        made = _gangs(ref, typed)
        keys = tuple(each.key for each in made)
        planned = _planned(made, workload.metadata.annotations)
        return replace(described, managed=Managed(ref, since, keys, planned))
    gangs = _gangs(ref, typed)
    names = tuple(dict.fromkeys(_names(described, workload.metadata, gangs)))
    if not (gangs and names):
        return described
    suspended = SuspendedWorkload(ref, gangs, names)
    return replace(described, gang_specs=_specs(described, suspended, gvr), suspended=suspended)


def _suspends(body: Body) -> bool:
    spec = part(body, "spec")
    return spec.get("suspend") is True or part(spec, "runPolicy").get("suspend") is True


def _is_made(metadata: Metadata) -> bool:
    """Return whether a larger workload made this one, and starts and stops it."""
    return any(each.controller and each.kind not in MAKERS for each in metadata.owner_references)


def _ref(kind: str, metadata: Metadata) -> ManagedWorkload:
    return ManagedWorkload(
        *(kind, metadata.namespace, metadata.name, metadata.uid, metadata.resource_version),
        edited=annotations.ADMITTED_FROM in metadata.annotations,
    )


def _planned(gangs: tuple[VirtualGang, ...], noted: Mapping[str, str]) -> Planned | None:
    """Return where members were to go; None where that is not said, or of other members."""
    nodes = planned_nodes.read(noted.get(annotations.ADMITTED_TO, ""))
    if not nodes or len(nodes) != sum(len(each.pods) for each in gangs):
        return None
    charged = naming.charged_to(noted)
    return Planned(gangs, nodes, charged.flavors if charged is not None else ())


def _names(
    described: GangObject, metadata: Metadata, gangs: Iterable[VirtualGang]
) -> Iterator[QueueName]:
    """Yield the names of queues that the workload, what it says of gangs, and members name."""
    own = naming.request_of(metadata.labels, metadata.annotations)
    specs = (each.queue_request for each in described.gang_specs)
    pods = (pod.queue_request for gang in gangs for pod in gang.pods.prototypes)
    for request in (own, *specs, *pods):
        yield from request.names if request is not None else ()


def _specs(described: GangObject, suspended: SuspendedWorkload, gvr: GVR) -> tuple[GangSpec, ...]:
    """Return what describes the gangs: all of one workload start together, or none does."""
    known = {each.key for each in described.gang_specs}
    first = described.gang_specs[0] if described.gang_specs else None
    more = (
        _spec_of(each, suspended.workload, gvr, first, described.queue_request)
        for each in suspended.gangs
        if each.key == _key(suspended.workload) and each.key not in known
    )
    called = tuple(each.key.called for each in suspended.gangs)
    return tuple(_together(each, called) for each in (*described.gang_specs, *more))


def _together(spec: GangSpec, called: tuple[GangName, ...]) -> GangSpec:
    if len(called) == 1 or spec.key.called not in called:
        return spec
    return replace(spec, options=replace(spec.options, groups=called))


def _spec_of(
    gang: VirtualGang,
    workload: ManagedWorkload,
    gvr: GVR,
    other: GangSpec | None,
    request: QueueRequest | None,
) -> GangSpec:
    """Return what describes the members that would be no gang once they are there: all at once."""
    first = gang.pods.prototypes[0]
    return GangSpec(
        key=gang.key,
        uid=workload.uid,
        gvr=gvr,
        created_at=other.created_at if other is not None else first.created_at,
        min_member=len(gang.pods),
        queue_request=other.queue_request if other is not None else request,
    )


def _key(workload: ManagedWorkload) -> GangKey:
    """Return the gang of members that are in none once they are there."""
    return GangKey(workload.kind, workload.namespace, workload.name)


# The members.


@dataclass(eq=False)
class _OfTemplate:
    """The members of one template: the first is read, of the others only what is their own."""

    path: TemplatePath
    prototype: Pod
    gang: GangKey
    others: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


def _gangs(workload: ManagedWorkload, body: Body) -> tuple[VirtualGang, ...]:
    """Return the members by gang. Raises InvalidField for a workload that is refused."""
    paths = {id(spec): path for path, spec in _templates(body)}
    of_templates: dict[object, _OfTemplate] = {}
    for pod in members.pods_of(_started(body)):
        metadata = pod["metadata"]
        containers = pod["spec"].get("containers") or [None]
        template: object = id(containers[0])
        known = of_templates.get(template)
        if known is not None and known.prototype.podset is not None:
            # Topology requests are of each Job by itself, also of one template.
            template = template, metadata["ownerReferences"][0]["name"]
            known = of_templates.get(template)
        if known is None:
            read = pod_decode.pod(pod, table.MEMBERSHIP)
            gang = read.gang
            if gang.source == gang_sources.SINGLE.name:
                gang = _key(workload)
            path = paths.get(id(containers[0]), ())
            prototype = replace(read, gang=gang, virtual=True)
            known = of_templates[template] = _OfTemplate(path, prototype, gang)
        known.others.append((metadata["name"], _rank(metadata)))
    by_gang: dict[GangKey, list[_OfTemplate]] = {}
    for each in of_templates.values():
        by_gang.setdefault(each.gang, []).append(each)
    return tuple(_gang(workload, key, some) for key, some in by_gang.items())


def _gang(workload: ManagedWorkload, key: GangKey, some: list[_OfTemplate]) -> VirtualGang:
    names = [name for each in some for name, _ in each.others]
    prefix = workload.name if all(each.startswith(workload.name) for each in names) else ""
    slots = [
        ((not rank, rank, natural_key(name)), place, name, rank)
        for place, each in enumerate(some)
        for name, rank in each.others
    ]
    ordered = (Slot(place, name[len(prefix) :], rank) for _, place, name, rank in sorted(slots))
    return VirtualGang(
        key,
        VirtualPods(
            workload.uid, prefix, tuple(each.prototype for each in some), _shared(tuple(ordered))
        ),
        tuple(MemberTemplate(each.path, each.prototype.pod_class) for each in some),
    )


@functools.lru_cache(MOST_SIZES)
def _shared(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    # The same object for equal ones: most workloads of one size have the same.
    return slots


def _rank(metadata: Body) -> tuple[int, ...]:
    labels, present = metadata.get("labels") or {}, metadata.get("annotations") or {}
    return table.MEMBERSHIP.rank_of(Metadata(labels=labels, annotations=present))


def _started(body: Body) -> Body:
    """Return a workload as it is once it is started."""
    spec = {**part(body, "spec"), "suspend": False}
    if "runPolicy" in spec:
        spec["runPolicy"] = {**part(spec, "runPolicy"), "suspend": False}
    return {**body, "spec": spec}


def _templates(value: object, path: TemplatePath = ()) -> Iterator[tuple[TemplatePath, object]]:
    """Yield the paths of all pod templates in an object, each with the first of its containers."""
    if isinstance(value, Mapping):
        containers = part(value, "spec").get("containers")
        if path and path[-1] == "template" and containers:
            yield path, containers[0]
        else:
            for key, each in value.items():
                yield from _templates(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _templates(each, (*path, place))
