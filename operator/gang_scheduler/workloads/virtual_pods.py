"""The members that a suspended workload would have: the pods that its controller would create.

They are made by the code with which `simulate` expands workloads. One pod of each template is read
in full: the others differ from it only in name and rank.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.gangs.specs import VirtualGang
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.model import refs
from gang_scheduler.model.pods import Pod, Slot, VirtualPods
from gang_scheduler.model.refs import GangKey, natural_key
from gang_scheduler.model.suspended import ManagedWorkload, MemberTemplate, TemplatePath
from gang_scheduler.wire.base import Metadata
from gang_scheduler.workloads import exclusive_topology, job_sets, table
from gang_scheduler.workloads.controllers import part
from gang_scheduler.workloads.kind import IsLate

Body = Mapping[str, Any]

MOST_MEMBERS: Final = 10_000
"""The most pods and Jobs of a waiting workload: a short object can request any number."""
MOST_TEMPLATES: Final = 1_000
"""The most different pods of a waiting workload: each is read in full, which takes 0.2 ms."""
TOO_DIFFERENT: Final = f"must describe at most {MOST_TEMPLATES:,} different pods while suspended"
MOST_SLOTS: Final = 1 << 16
MOST_SIZES: Final = 512
"""This many lists of slots are kept, so that workloads with equal lists share one."""


def gang_of_others(workload: ManagedWorkload) -> GangKey:
    """Return the gang that stands for members that will be in no gang, while they wait."""
    return GangKey(workload.kind, workload.namespace, workload.name)


def uneditable(gang: VirtualGang) -> VirtualGang:
    """Return a gang whose templates have no path, so that they stay as they are.

    Such a gang belongs to a workload that its owner starts.
    """
    return gang._replace(templates=tuple(each._replace(path=()) for each in gang.templates))


@dataclass(eq=False)
class _OfTemplate:
    """The members of one template: the first is read in full, of others only name and rank."""

    path: TemplatePath
    prototype: Pod
    gang: GangKey
    is_late: bool
    is_of_its_job: bool
    is_charged_alone: bool
    """The only member so far, which is charged for claims that others of the template share."""
    others: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)


def bodies_of(body: Body) -> Iterator[Body]:
    """Yield the pods, as manifests, that the controller would create if the workload started.

    Raises InvalidField if the workload would be refused, or has more than MOST_MEMBERS pods.
    """
    table.check_number(body, MOST_MEMBERS)
    return table.pods_of(_started(body), MOST_MEMBERS)


def gangs_of(
    workload: ManagedWorkload, body: Body, *, by_default: bool = False
) -> tuple[VirtualGang, ...]:
    """Return the members by gang. Raises InvalidField for a workload that would be refused.

    `by_default`: pods of JobSets are gangs without opting in.
    """
    is_late = _lateness(body)
    paths = {id(spec): path for path, spec in templates_in(body)}
    _check_templates(len(paths))
    of_templates: dict[object, _OfTemplate] = {}
    for pod in bodies_of(body):
        metadata = pod["metadata"]
        containers = pod["spec"].get("containers") or [None]
        late, is_first = is_late(metadata), True
        template: object = id(containers[0]), late
        known = of_templates.get(template)
        if known is not None and known.is_of_its_job:
            template = template, metadata["ownerReferences"][0]["name"]
            known = of_templates.get(template)
        if known is not None and known.is_charged_alone:
            template = template, "others"
            known = of_templates.get(template)
            is_first = False
        if known is None:
            _check_templates(len(of_templates) + 1)
            read = pod_decode.pod(pod, table.MEMBERSHIP)
            gang = _gang_of(workload, read, by_default=by_default)
            path = paths.get(id(containers[0]), ())
            prototype = replace(read, gang=gang, virtual=True)
            known = _OfTemplate(
                *(path, prototype, gang, late, _is_of_its_job(prototype)),
                is_charged_alone=is_first and _may_share_claims(prototype),
            )
            of_templates[template] = known
        known.others.append((metadata["name"], _rank(metadata)))
    by_gang: dict[GangKey, list[_OfTemplate]] = {}
    for each in of_templates.values():
        by_gang.setdefault(each.gang, []).append(each)
    return tuple(_gang(workload, key, some) for key, some in by_gang.items())


def _check_templates(number: int) -> None:
    if number > MOST_TEMPLATES:
        raise InvalidField("spec", None, TOO_DIFFERENT)


def _gang_of(workload: ManagedWorkload, pod: Pod, *, by_default: bool) -> GangKey:
    """Return the key of the gang in which a member waits."""
    if workload.kind in table.OWNERS:
        return gang_of_others(workload)
    if pod.gang.source != refs.SINGLE.name:
        return pod.gang
    if by_default and annotations.JOB_GANG_LABEL not in pod.labels:
        name = job_sets.name_of(Metadata(labels={**pod.labels}))
        return GangKey(refs.JOB_SET.name, workload.namespace, name)
    return gang_of_others(workload)


def _is_of_its_job(prototype: Pod) -> bool:
    """Return whether a pod has a request that applies to each Job of a template separately."""
    return prototype.podset is not None or bool(exclusive_topology.layer_of(prototype.annotations))


def _may_share_claims(prototype: Pod) -> bool:
    """Return whether members may use the same claim: by its name, or as one native PodGroup."""
    is_native = prototype.gang.source == refs.NATIVE.name
    return any(is_native or not each.template for each in prototype.claims)


def _lateness(body: Body) -> IsLate:
    kind = table.SUSPENDABLE.get(body["kind"])
    return kind.lateness(body) if kind is not None and kind.lateness is not None else _never_late


def _never_late(_: Body) -> bool:
    return False


def _gang(workload: ManagedWorkload, key: GangKey, some: list[_OfTemplate]) -> VirtualGang:
    names = [name for each in some for name, _ in each.others]
    prefix = workload.name if all(each.startswith(workload.name) for each in names) else ""
    slots = [
        ((not rank, rank, natural_key(name)), place, name, rank)
        for place, each in enumerate(some)
        for name, rank in each.others
    ]
    ordered = (_slot(place, name[len(prefix) :], rank) for _, place, name, rank in sorted(slots))
    return VirtualGang(
        key,
        VirtualPods(
            workload.uid, prefix, tuple(each.prototype for each in some), _shared(tuple(ordered))
        ),
        tuple(MemberTemplate(each.path, each.prototype.pod_class, each.is_late) for each in some),
    )


_slot: Final = functools.lru_cache(MOST_SLOTS)(Slot)
"""Equal slots share one object: most workloads number their members in the same way."""


@functools.lru_cache(MOST_SIZES)
def _shared(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    # Most workloads of one size have the same slots.
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


def templates_in(value: object, path: TemplatePath = ()) -> Iterator[tuple[TemplatePath, object]]:
    """Yield the paths of all pod templates in an object, each with its first container."""
    if isinstance(value, Mapping):
        containers = part(value, "spec").get("containers")
        if path and path[-1] == "template" and containers:
            yield path, containers[0]
        else:
            for key, each in value.items():
                yield from templates_in(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from templates_in(each, (*path, place))
