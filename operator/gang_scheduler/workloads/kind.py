"""A kind of workloads: how its pods are recognized, and how its objects are read."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import fields, foreign_marks, keys, topology
from gang_scheduler.decode.gangs import annotations as gang_annotations
from gang_scheduler.decode.gangs import elastic
from gang_scheduler.decode.gangs.annotations import GangOptions
from gang_scheduler.decode.gangs.pod_groups import GangObject
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable, WhatHolds
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Elastic, Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import field, label_field
from gang_scheduler.wire.core import Metadata
from gang_scheduler.wire.pods import PodTemplate

Body = Mapping[str, Any]
ByMembers = Callable[[GangKey, Iterable[Pod], GangSpec | None], GangSpec | None]
"""Returns what members say of their gang, and what an object says beside them, if there is one."""


class ObjectsOfKind(NamedTuple):
    """How the objects of a kind of workloads are read.

    `versions` are those in which they may be served, best first; all say the same. `read` returns
    all that an object says, and raises InvalidField. `if_unreadable`: what holds of one that cannot
    be read; None: that the gang of its name waits, and why.
    """

    versions: tuple[GVR, ...]
    read: Callable[[Body], GangObject]
    if_unreadable: Unreadable | WhatHolds[GangObject] | None = None


class WorkloadKind(NamedTuple):
    """A kind of workloads, a row of `table`. Its name is that of the source of its gangs.

    Where pods say what makes a gang of them, `by_members` returns that; else the objects do.
    `has_roles`: its objects say how many of each role start together, which no PodGroup that its
    controller makes says.
    """

    pods: PodsOfKind
    objects: ObjectsOfKind | None = None
    by_members: ByMembers | None = None
    has_roles: bool = False

    @property
    def name(self) -> str:
        """The name of the kind, as in manifests."""
        return self.pods.source.name


def asks(template: PodTemplate) -> bool:
    """Return whether the pods of a template are to be a gang by what it says itself."""
    return annotations.ask_for_gang(template.metadata.labels, template.metadata.annotations)


# Gangs of workloads that have a pod template for each role.

OF_GANG: Final = (
    annotations.GANG_GROUPS,
    annotations.GANG_MODE,
    annotations.GANG_MATCH_POLICY,
    annotations.GANG_WAITING_TIME,
    annotations.GANG_TOTAL_NUMBER,
    annotations.MIN_RUNTIME,
    annotations.ELASTIC,
    annotations.NETWORK_TOPOLOGY_SPEC,
)
"""What the annotations of a workload say for all of its templates, or each of these for it."""


def with_annotations(spec: GangSpec, workload: Metadata, templates: Iterable[Metadata]) -> GangSpec:
    """Return the gang spec with what the workload and its templates say, or with its problem."""
    faults, templates = Faults(), tuple(templates)
    present = _together(workload, templates, faults)
    options = faults.read(lambda: gang_annotations.read(present), GangOptions())
    request = faults.read(lambda: topology.network_topology_spec(present), None)
    lasts = faults.read(
        lambda: fields.expected_duration(workload.labels, workload.annotations), None
    )
    found = faults.read(lambda: elastic.elastic_of(present), None)
    if wrong := elastic.unsupported(present):
        faults.add(wrong)
    if found is not None and found.role and found.role not in {each.name for each in spec.roles}:
        known = " or ".join(each.name for each in spec.roles)
        faults.add(InvalidField(f"{elastic.WHERE}.role", found.role, f"must be {known}"))
    for wrong in _in_vain(workload, templates):
        faults.add(wrong)
    try:
        faults.check()
    except InvalidField as error:
        return replace(spec, problem=Problem(Reason.INVALID_SPEC, InvalidInput(str(error))))
    timeout = options.timeout_seconds or spec.options.timeout_seconds
    return replace(
        _elastic(spec, found),
        options=replace(options, timeout_seconds=timeout),
        topology_request=request,
        run_time=_run_time(spec.run_time, lasts),
    )


def _in_vain(workload: Metadata, templates: Iterable[Metadata]) -> Iterator[InvalidField]:
    """Yield what the workload itself says that nothing reads there."""
    yield from keys.too_long(workload.labels, workload.annotations)
    yield from keys.unknown_labels(workload.labels)
    yield from keys.unknown_annotations(workload.annotations, workload.labels)
    yield from keys.misplaced_podset(workload.annotations)
    if wrong := naming.misplaced(workload.labels, workload.annotations):
        yield wrong
    yield from foreign_marks.refused(workload.labels, workload.annotations)
    key = annotations.JOB_GANG_LABEL
    said = workload.labels.get(key, "true")
    if said not in {"true", *(each.labels.get(key) for each in templates)}:
        where = label_field(key)
        yield InvalidField(where, None, "belongs in the labels of the pod templates")


def _together(
    workload: Metadata, templates: Iterable[Metadata], faults: Faults
) -> Mapping[str, str]:
    """Return the annotations of the whole gang, without those that contradict each other."""
    places = (workload, *templates)
    together: dict[str, str] = {}
    for key in OF_GANG:
        said = {each.annotations[key] for each in places if key in each.annotations}
        if len(said) == 1:
            (together[key],) = said
        elif said:
            problem = "must be the same in the workload and in all of its pod templates"
            faults.add(InvalidField(field(key), None, problem))
    return together


def _elastic(spec: GangSpec, found: Elastic | None) -> GangSpec:
    """Return the gang spec with so many of the elastic role as the annotation says at least."""
    if found is None:
        return spec
    found = found._replace(role=found.role or spec.elastic_role)
    roles = tuple(
        each._replace(min_member=found.min_workers) if each.name == found.role else each
        for each in spec.roles
    )
    return replace(
        spec, elastic=found, roles=roles, min_member=sum(each.min_member for each in roles)
    )


def _run_time(known: RunTime | None, expected: int | None) -> RunTime | None:
    if expected is None:
        return known
    return RunTime(expected=expected) if known is None else known._replace(expected=expected)
