"""Reads of any kind of workloads which wait suspended in a queue, and which were let start.

A workload that another one has made is that one's to suspend: of it is read what its maker does not
say itself.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField, without_nulls
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.gangs.suspended_workloads import (
    MadePart,
    Managed,
    Planned,
    SuspendedWorkload,
    VirtualGang,
)
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import makers, planned_nodes, virtual_members
from gang_scheduler.decode.workloads.makers import TELL_NOTHING, Maker
from gang_scheduler.decode.workloads.members import table as members
from gang_scheduler.decode.workloads.members.lifecycle import Workload
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.template_additions import without_additions
from gang_scheduler.decode.workloads.virtual_members import gang_of_others
from gang_scheduler.model import gang_sources
from gang_scheduler.model.refs import GangKey, GangName, QueueName, QueueRequest
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.wire.metadata import Metadata

Body = Mapping[str, Any]
Read = Callable[[Body], GangObject]

KINDS: Final = frozenset(
    {
        *("Job", "JobSet", "PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob"),
        *("MPIJob", "RayCluster", "RayJob", "TrainJob"),
    }
)
"""Kinds that can be suspended."""
JOB: Final = gang_sources.JOB.name
MAKERS: Final = frozenset({"CronJob"})
"""Kinds that leave it to others to suspend what they make: all other controllers do that."""


def reading(kind: str, gvr: GVR, read: Read) -> Read:
    """Return what reads a kind, with what is said of those that are suspended, or were."""
    return functools.partial(_read, kind, gvr, read) if kind in KINDS else read


def _read(kind: str, gvr: GVR, read: Read, body: Body) -> GangObject:
    described = read(body)
    if _suspends(body):
        specs = (replace(each, suspended=True) for each in described.gang_specs)
        described = replace(described, gang_specs=tuple(specs))
    made_by = makers.maker_of(kind, body)
    if made_by is not None:
        return _made(described, kind, gvr, made_by, body)
    return _by_itself(described, kind, gvr, body)


def _by_itself(described: GangObject, kind: str, gvr: GVR, body: Body) -> GangObject:
    """Return what a workload says that may wait, or was let start."""
    metadata = body["metadata"]
    admitted_at = (metadata.get("annotations") or {}).get(annotations.ADMITTED_AT)
    suspends = _suspends(body)
    if suspends == bool(admitted_at):
        return described
    typed = _typed(kind, gvr, without_additions(body))
    workload = fields.read(typed, Workload)
    ended = workload.has_ended or members.has_ended(typed)
    if ended or workload.is_elsewhere or _is_made(workload.metadata):
        return described
    ref = _ref(kind, workload.metadata)
    if not (admitted_at or kind in TELL_NOTHING or _may_name_a_queue(described, typed)):
        return described
    gangs = virtual_members.gangs_of(ref, typed)
    if admitted_at:
        since = fields.timestamp(admitted_at, fields.field(annotations.ADMITTED_AT))
        keys = tuple(each.key for each in gangs)
        planned = _planned(kind, gangs, workload.metadata.annotations)
        managed = Managed(ref, since, keys, planned, _at_once(described))
        return replace(described, managed=managed)
    names = tuple(dict.fromkeys(_names(described, workload.metadata, gangs)))
    if kind not in TELL_NOTHING and not (gangs and names):
        return described
    suspended = SuspendedWorkload(
        *(ref, gangs, names),
        at_once=_at_once(described),
        awaits_ends=kind == JOB and _awaits_ends(part(typed, "spec")),
    )
    specs = _specs(described, described.gang_specs, suspended, gvr)
    return replace(described, gang_specs=specs, suspended=suspended)


def _made(
    described: GangObject, kind: str, gvr: GVR, made_by: tuple[str, Maker], body: Body
) -> GangObject:
    """Return what a workload says of which the maker is suspended in its place."""
    uid, maker = made_by
    ref = _ref(kind, fields.read(body, Workload).metadata)
    keys = (*_keys(described), gang_of_others(ref))
    if maker.tells:
        return replace(described, part=MadePart(uid, ref.namespace, keys))
    typed = _typed(kind, gvr, body)
    expand = functools.partial(
        virtual_members.gangs_of, ref, typed, by_default=described.by_default is not None
    )
    if not _suspends(body):
        part = MadePart(uid, ref.namespace, keys, expanded=lambda: _expanded(expand))
        return replace(described, part=part)
    workload = fields.read(typed, Workload)
    gangs = expand()
    names = tuple(dict.fromkeys(_names(described, workload.metadata, gangs)))
    suspended = SuspendedWorkload(ref, gangs, names)
    by_default = described.by_default
    if by_default is not None:
        by_default = _specs(described, by_default, suspended, gvr)
    keys = tuple(dict.fromkeys((*keys, *(each.key for each in gangs))))
    return replace(
        described,
        gang_specs=_specs(described, described.gang_specs, suspended, gvr),
        by_default=by_default,
        part=MadePart(
            uid, ref.namespace, keys, tuple(map(virtual_members.uneditable, gangs)), names
        ),
    )


def _expanded(expand: Callable[[], tuple[VirtualGang, ...]]) -> tuple[VirtualGang, ...]:
    """Return the members of what runs; none where they cannot be told: none were planned then."""
    try:
        return tuple(map(virtual_members.uneditable, expand()))
    except InvalidField:
        return ()


def _keys(described: GangObject) -> tuple[GangKey, ...]:
    """Return the gangs that a workload may have."""
    return tuple(each.key for each in (*described.gang_specs, *(described.by_default or ())))


def _typed(kind: str, gvr: GVR, body: Body) -> Body:
    """Return an object as in a manifest: in lists, objects are without their kind."""
    typed: Body = without_nulls({"apiVersion": gvr.api_version, "kind": kind, **body})
    return typed


def _may_name_a_queue(described: GangObject, body: Body) -> bool:
    """Return whether to look at the members: of most workloads without a queue there are none."""
    if any(each.queue_request is not None for each in described.gang_specs):
        return True
    templates = (
        functools.reduce(_inside, path, body) for path, _ in virtual_members.templates_in(body)
    )
    return any(naming.names_a_queue(part(each, "metadata")) for each in (body, *templates))


def _inside(tree: Any, step: Any) -> Any:  # noqa: ANN401 - any JSON value.
    return tree[step]


def _at_once(described: GangObject) -> int:
    """Return how many pods the spec of a Job asks for; 0 for other workloads."""
    return described.pods.at_once if described.pods is not None else 0


def _awaits_ends(spec: Body) -> bool:
    """Return whether pods of a Job that terminate keep their places until they have ended."""
    by_policy = "Failed" if spec.get("podFailurePolicy") else ""
    return (spec.get("podReplacementPolicy") or by_policy) == "Failed"


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


def _planned(kind: str, gangs: tuple[VirtualGang, ...], noted: Mapping[str, str]) -> Planned | None:
    """Return where members were to go; None where that is not said, or of other members."""
    nodes = planned_nodes.read(noted.get(annotations.ADMITTED_TO, ""))
    is_told = kind not in TELL_NOTHING
    if not nodes or (is_told and len(nodes) != sum(len(each.pods) for each in gangs)):
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


def _specs(
    described: GangObject, specs: tuple[GangSpec, ...], suspended: SuspendedWorkload, gvr: GVR
) -> tuple[GangSpec, ...]:
    """Return what describes the gangs: all of one workload start together, or none does."""
    known = {each.key for each in specs}
    first = specs[0] if specs else None
    others = gang_of_others(suspended.workload)
    more = (
        _spec_of(each, suspended.workload, gvr, first, described.queue_request)
        for each in suspended.gangs
        if each.key not in known
        and (each.key == others or each.key.source == gang_sources.JOB_SET.name)
    )
    called = tuple(each.key.called for each in suspended.gangs)
    return tuple(_together(each, called) for each in (*specs, *more))


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
        suspended=True,
        queue_request=other.queue_request if other is not None else request,
    )
