"""Suspended workloads of any kind: read while they wait in a queue and after they were started.

An owned workload is suspended and started by its owner. The scheduler reads from it only facts that
the owner does not have.
"""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import ADMITTED_FROM
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField, without_nulls
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.specs import (
    GangObject,
    GangSpec,
    Managed,
    OwnedWorkload,
    Planned,
    SuspendedWorkload,
    VirtualGang,
)
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import refs
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.refs import GangKey, GangName, QueueName, QueueRequest
from gang_scheduler.model.suspended import ManagedWorkload, TemplateEdit, TemplatePath
from gang_scheduler.model.wording import field
from gang_scheduler.wire.base import Metadata
from gang_scheduler.workloads import table, virtual_pods
from gang_scheduler.workloads.controllers import Workload, part
from gang_scheduler.workloads.kind import Kind
from gang_scheduler.workloads.table import DECLARING_NO_MEMBERS, LEAVING_SUSPENDED
from gang_scheduler.workloads.virtual_pods import gang_of_others

# The planned nodes of the members of a started workload, in its annotation, in the order of the
# members. `node-1*8,node-2*8` are 16 members on two nodes; `node-1,,node-2` are three members, and
# the second has no place.

LONGEST: Final = 100_000
"""In bytes; all annotations of an object may have 256 KiB together."""
MOST_MEMBERS: Final = 100_000


def written_planned_nodes(nodes: Iterable[str]) -> str:
    """Return the annotation's text; "" without nodes, or if the text would be too long."""
    text = ",".join(_run(node, sum(1 for _ in run)) for node, run in itertools.groupby(nodes))
    return text if len(text) <= LONGEST else ""


def read_planned_nodes(text: str) -> tuple[str, ...]:
    """Return the nodes in the annotation's text; none if it is unreadable."""
    if not text or len(text) > LONGEST:
        return ()
    try:
        found = tuple(itertools.islice(_nodes(text), MOST_MEMBERS + 1))
    except ValueError:
        # A user may have written anything there.
        return ()
    return found if len(found) <= MOST_MEMBERS else ()


def _run(node: str, number: int) -> str:
    return f"{node}*{number}" if number > 1 else node


def _nodes(text: str) -> Iterator[str]:
    for run in text.split(","):
        node, times, number = run.partition("*")
        yield from itertools.repeat(node, min(int(number), MOST_MEMBERS + 1) if times else 1)


# Additions of an admission to the pod templates of a workload, and their removal. An annotation of
# the workload lists them; it is written with the additions in one patch. An addition is removed
# only if it is still there unchanged: if a user has changed it since, the user's version stays.

Document = MutableMapping[str, Any]
LONGEST_ADDITION: Final = 200_000
"""In bytes; all annotations of an object may have 256 KiB together."""


class _Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """The value of a nodeSelector label `now`, and the value `before`, None if it was absent."""

    now: str
    before: str | None = None


class _Added(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The additions to the pod template at a path."""

    path: tuple[str | int, ...]
    node_selector: dict[str, _Label] = {}
    tolerations: list[dict[str, str]] = []


def add_to_template(document: Document, edits: Iterable[TemplateEdit]) -> str:
    """Add node labels and tolerations to the templates of a workload, in place.

    Return the annotation's text, "" if nothing is added. Raises LookupError with the path, in dots,
    of a missing template.
    """
    added = [each for edit in edits if (each := _add(document, edit)) is not None]
    return msgspec.json.encode(added).decode() if added else ""


def take_out(document: Document) -> None:
    """Remove the additions that a workload's annotation lists from its templates, in place."""
    for each in _added(document):
        pod = _pod_at(document, each.path)
        if pod is not None:
            _restore_labels(pod, each.node_selector)
            _drop_tolerations(pod, each.tolerations)


def without_additions(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a workload as its user wrote it; the same object if nothing was added to it."""
    if ADMITTED_FROM not in ((document.get("metadata") or {}).get("annotations") or {}):
        return document
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    take_out(copied)
    return copied


def _added(document: Mapping[str, Any]) -> Iterator[_Added]:
    text = ((document.get("metadata") or {}).get("annotations") or {}).get(ADMITTED_FROM)
    if not text or len(text) > LONGEST_ADDITION:
        return
    try:
        yield from msgspec.json.decode(text, type=list[_Added])
    except (msgspec.DecodeError, UnicodeError):
        # A user may have written anything there, in which case nothing is removed.
        return


def _add(document: Document, edit: TemplateEdit) -> _Added | None:
    pod = _pod_at(document, edit.path)
    if pod is None:
        raise LookupError(".".join(map(str, edit.path)))
    selector = dict(pod.get("nodeSelector") or {})
    labels = {
        key: _Label(value, selector.get(key))
        for key, value in edit.node_labels
        if selector.get(key) != value
    }
    tolerations = list(pod.get("tolerations") or ())
    missing = [each for each in map(_written, edit.tolerations) if each not in tolerations]
    if labels:
        pod["nodeSelector"] = selector | {key: each.now for key, each in labels.items()}
    if missing:
        pod["tolerations"] = [*tolerations, *missing]
    return _Added(edit.path, labels, missing) if labels or missing else None


def _restore_labels(pod: Document, labels: Mapping[str, _Label]) -> None:
    selector = dict(pod.get("nodeSelector") or {})
    for key, label in labels.items():
        if selector.get(key) != label.now:
            continue
        if label.before is None:
            del selector[key]
        else:
            selector[key] = label.before
    _set(pod, "nodeSelector", selector)


def _drop_tolerations(pod: Document, added: Iterable[Mapping[str, str]]) -> None:
    left = list(pod.get("tolerations") or ())
    for each in added:
        if each in left:
            left.remove(each)
    _set(pod, "tolerations", left)


def _set(pod: Document, field: str, value: Any) -> None:  # noqa: ANN401 - a list or a map.
    if value:
        pod[field] = value
    else:
        pod.pop(field, None)


def _pod_at(document: Any, path: TemplatePath) -> Document | None:  # noqa: ANN401 - any JSON.
    """Return the `spec` of the template at a path; None if there is none."""
    found = document
    for step in (*path, "spec"):
        try:
            found = found[step]
        except (LookupError, TypeError):
            return None
    return found if isinstance(found, MutableMapping) else None


def _written(toleration: Toleration) -> dict[str, str]:
    """Return a toleration in the form in which the API server stores it."""
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return {name: value for name, value in fields.items() if value}


Body = Mapping[str, Any]
Read = Callable[[Body], GangObject]


def reading(kind: str, gvr: GVR, read: Read) -> Read:
    """Return a reader that also finds out whether a workload waits suspended, or was started."""
    return functools.partial(_read, kind, gvr, read) if kind in table.SUSPENDABLE else read


def _read(kind: str, gvr: GVR, read: Read, body: Body) -> GangObject:
    described = read(body)
    if _suspends(body):
        specs = (replace(each, suspended=True) for each in described.gang_specs)
        described = replace(described, gang_specs=tuple(specs))
    owned_by = table.owner_of(kind, body)
    if owned_by is not None:
        return _owned(described, kind, gvr, owned_by, body)
    return _by_itself(described, kind, gvr, body)


def _by_itself(described: GangObject, kind: str, gvr: GVR, body: Body) -> GangObject:
    """Return a workload without an owner, which may wait or was started from a queue."""
    metadata = body["metadata"]
    admitted_at = (metadata.get("annotations") or {}).get(annotations.ADMITTED_AT)
    suspends = _suspends(body)
    if suspends == bool(admitted_at):
        return described
    typed = _typed(kind, gvr, without_additions(body))
    workload = fields.read(typed, Workload)
    ended = workload.has_ended or table.has_ended(typed)
    if ended or not workload.managed_by <= table.CONTROLLERS or _is_made(workload.metadata):
        return described
    ref = _ref(kind, workload.metadata)
    if not (admitted_at or kind in DECLARING_NO_MEMBERS or _may_name_a_queue(described, typed)):
        return described
    gangs = virtual_pods.gangs_of(ref, typed)
    if admitted_at:
        since = fields.timestamp(admitted_at, field(annotations.ADMITTED_AT))
        keys = tuple(each.key for each in gangs)
        planned = _planned(kind, gangs, workload.metadata.annotations)
        managed = Managed(ref, since, keys, planned, _at_once(described))
        return replace(described, managed=managed)
    names = tuple(dict.fromkeys(_names(described, workload.metadata, gangs)))
    if kind not in DECLARING_NO_MEMBERS and not (gangs and names):
        return described
    suspended = SuspendedWorkload(
        *(ref, gangs, names),
        at_once=_at_once(described),
        awaits_ends=kind == refs.JOB.name and _awaits_ends(part(typed, "spec")),
    )
    specs = _specs(described, described.gang_specs, suspended, gvr)
    return replace(described, gang_specs=specs, suspended=suspended)


def _owned(
    described: GangObject, kind: str, gvr: GVR, owned_by: tuple[str, Kind], body: Body
) -> GangObject:
    """Return the content of a workload that its owner suspends and starts."""
    uid, owner = owned_by
    ref = _ref(kind, fields.read(body, Workload).metadata)
    keys = (*_keys(described), gang_of_others(ref))
    if owner.name not in DECLARING_NO_MEMBERS:
        return replace(described, owned=OwnedWorkload(uid, ref.namespace, keys))
    typed = _typed(kind, gvr, body)
    expand = functools.partial(
        virtual_pods.gangs_of, ref, typed, by_default=described.by_default is not None
    )
    if not _suspends(body):
        owned = OwnedWorkload(uid, ref.namespace, keys, expanded=lambda: _expanded(expand))
        return replace(described, owned=owned)
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
        owned=OwnedWorkload(
            uid, ref.namespace, keys, tuple(map(virtual_pods.uneditable, gangs)), names
        ),
    )


def _expanded(expand: Callable[[], tuple[VirtualGang, ...]]) -> tuple[VirtualGang, ...]:
    """Return the members of a running workload; none if these cannot be computed."""
    try:
        return tuple(map(virtual_pods.uneditable, expand()))
    except InvalidField:
        return ()


def _keys(described: GangObject) -> tuple[GangKey, ...]:
    """Return the gangs that a workload may have."""
    return tuple(each.key for each in (*described.gang_specs, *(described.by_default or ())))


def _typed(kind: str, gvr: GVR, body: Body) -> Body:
    """Return an object with its kind, which objects in lists lack."""
    typed: Body = without_nulls({"apiVersion": gvr.api_version, "kind": kind, **body})
    return typed


def _may_name_a_queue(described: GangObject, body: Body) -> bool:
    """Return whether a workload or a template may name a queue: only then members are computed."""
    if any(each.queue_request is not None for each in described.gang_specs):
        return True
    templates = (
        functools.reduce(_inside, path, body) for path, _ in virtual_pods.templates_in(body)
    )
    return any(naming.names_a_queue(part(each, "metadata")) for each in (body, *templates))


def _inside(tree: Any, step: Any) -> Any:  # noqa: ANN401 - any JSON value.
    return tree[step]


def _at_once(described: GangObject) -> int:
    """Return how many pods the spec of a Job requests; 0 for other workloads."""
    return described.pods.at_once if described.pods is not None else 0


def _awaits_ends(spec: Body) -> bool:
    """Return whether a Job creates a replacement only once a terminating pod has ended."""
    by_policy = "Failed" if spec.get("podFailurePolicy") else ""
    return (spec.get("podReplacementPolicy") or by_policy) == "Failed"


def _suspends(body: Body) -> bool:
    spec = part(body, "spec")
    return spec.get("suspend") is True or part(spec, "runPolicy").get("suspend") is True


def _is_made(metadata: Metadata) -> bool:
    """Return whether an owner created this workload, and starts and stops it."""
    return any(
        each.controller and each.kind not in LEAVING_SUSPENDED for each in metadata.owner_references
    )


def _ref(kind: str, metadata: Metadata) -> ManagedWorkload:
    return ManagedWorkload(
        *(kind, metadata.namespace, metadata.name, metadata.uid, metadata.resource_version),
        edited=annotations.ADMITTED_FROM in metadata.annotations,
    )


def _planned(kind: str, gangs: tuple[VirtualGang, ...], noted: Mapping[str, str]) -> Planned | None:
    """Return the nodes planned for the members; None for no nodes, or for other members."""
    nodes = read_planned_nodes(noted.get(annotations.ADMITTED_TO, ""))
    is_told = kind not in DECLARING_NO_MEMBERS
    if not nodes or (is_told and len(nodes) != sum(len(each.pods) for each in gangs)):
        return None
    charged = naming.charged_to(noted)
    return Planned(gangs, nodes, charged.flavors if charged is not None else ())


def _names(
    described: GangObject, metadata: Metadata, gangs: Iterable[VirtualGang]
) -> Iterator[QueueName]:
    """Yield the names of queues in the workload, in its declared gangs, and in its members."""
    own = naming.request_of(metadata.labels, metadata.annotations)
    specs = (each.queue_request for each in described.gang_specs)
    pods = (pod.queue_request for gang in gangs for pod in gang.pods.prototypes)
    for request in (own, *specs, *pods):
        yield from request.names if request is not None else ()


def _specs(
    described: GangObject, specs: tuple[GangSpec, ...], suspended: SuspendedWorkload, gvr: GVR
) -> tuple[GangSpec, ...]:
    """Return the specs of all gangs of a workload, in one group so that they start together."""
    known = {each.key for each in specs}
    first = specs[0] if specs else None
    others = gang_of_others(suspended.workload)
    more = (
        _spec_of(each, suspended.workload, gvr, first, described.queue_request)
        for each in suspended.gangs
        if each.key not in known and (each.key == others or each.key.source == refs.JOB_SET.name)
    )
    called = tuple(each.key.called for each in suspended.gangs)
    return tuple(_together((*specs, *more), called))


def _together(specs: Sequence[GangSpec], called: tuple[GangName, ...]) -> Iterator[GangSpec]:
    """Yield the specs so that all gangs of these names are one group.

    The first one names all others: one name joins two gangs, and there may be a thousand.
    """
    names = frozenset(called) if len(called) > 1 else frozenset()
    hub = next((each for each in specs if each.key.called in names), None)
    for each in specs:
        if each.key.called in names:
            named = called if each is hub else ()
            yield replace(each, options=replace(each.options, groups=named))
        else:
            yield each


def _spec_of(
    gang: VirtualGang,
    workload: ManagedWorkload,
    gvr: GVR,
    other: GangSpec | None,
    request: QueueRequest | None,
) -> GangSpec:
    """Return the spec of a gang for members that will be in no gang; they all start at once."""
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
