"""A kind of job: a row of the table, with everything that the scheduler knows about the kind."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import (
    elastic,
    fields,
    foreign_marks,
    gang_annotations,
    known_keys,
    topology,
)
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable, WhatHolds
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Elastic, Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.model.wording import field, label_field
from gang_scheduler.wire.base import Metadata, Wire
from gang_scheduler.workloads.controllers import NO_PHASE, Phase, Source

Body = Mapping[str, Any]
Path = tuple[str | int, ...]
"""The place of a field in an object: names of fields, and positions in lists."""
ByMembers = Callable[[GangKey, Iterable[Pod], GangSpec | None], GangSpec | None]
"""Returns the gang that members describe; the last argument is what an object declares, if any."""
IsLate = Callable[[Body], bool]
"""Returns whether a pod with this metadata is created only after other pods."""


class Suspend(NamedTuple):
    """How a workload is suspended: by the field at a path.

    `thaws`: the write that suspends the workload may also change its templates. Otherwise they may
    change only while the workload is suspended and its pods are gone.
    """

    path: Path = ("spec", "suspend")
    thaws: bool = True


def _none(_: Body) -> None:
    """Return None: no other field is copied."""


def value_at(body: object, path: Path) -> object:
    """Return the value of a field of an object; None without one."""
    for step in path:
        if isinstance(step, int):
            body = body[step] if isinstance(body, list) and step < len(body) else None
        else:
            body = body.get(step) if isinstance(body, Mapping) else None
    return body


def whole_number(value: object) -> int | None:
    """Return the number of pods or Jobs in a field; None if it is no whole number, or below 0."""
    is_number = type(value) is int and 0 <= value <= fields.GREATEST_INTEGER
    return value if is_number else None  # type: ignore[return-value]


def _one_by_default(found: Body, path: Path) -> int:
    number = whole_number(value_at(found, path))
    return 1 if number is None else number


def _is_false(_: Body) -> bool:
    return False


class ReplicaField(NamedTuple):
    """The field that says how many pods a workload, or one of its roles, has at once.

    `path` returns the place of the field in an object, given the role of the elastic workers; None
    if the object has no such field. `drops_highest` returns whether the controller of an object
    ends the pods with the highest indexes if the number is lowered. `same_number_field` returns the
    place of a second field that must have the same number; None without one. `number` returns the
    number that the controller follows. `ending` returns, for a `path`, the place of the names of
    pods that the controller ends first; None if it chooses the pods itself.
    """

    path: Callable[[Body, str], Path | None]
    drops_highest: Callable[[Body], bool] = _is_false
    same_number_field: Callable[[Body], Path | None] = _none
    number: Callable[[Body, Path], int] = _one_by_default
    ending: Callable[[Path], Path] | None = None


class Owns(NamedTuple):
    """A kind of workload that the controller of an owner creates, starts and suspends.

    `declares_members`: the spec of the owner shows the members. Otherwise only the owned workload
    shows them.
    """

    kind: str
    declares_members: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kind:
    """A kind of job. A field that is left out means that the kind has no such feature.

    `name` is its kind in manifests. `versions` are its API versions, best first; all of them have
    the same content. Watched kinds have a `struct` (the fields that are read, and that a snapshot
    contains) and `read`, which decodes an object and raises InvalidField. `if_unreadable` is the
    result for an unreadable object; by default the gang of that name waits. `names_queues`: objects
    of this kind are read only for the queue that they name.

    `pods` says how its pods are recognized. `source` is how its gangs are named if no pod names
    them. `by_members` completes or makes the gang from its members. `has_roles`: its objects have a
    minimum for each role, which is missing in the PodGroup that its controller creates.

    `creates` yields the pods that its controller would create, and objects that lead to pods. It
    raises InvalidField for a workload that an API server would refuse. `pod_count` is how many pods
    there would be, for kinds in which one short object can request very many. `lateness` says which
    pods are created after others. `phase` is the status field that shows the end of a workload; the
    conditions of all kinds count as well.

    `suspend` is set if a workload can wait suspended. `owns` is set if the controller creates
    another workload that can. `starts_owned` is False if the controller creates that workload
    suspended and leaves it so. `replicas` is set if the scheduler can change how many pods an
    elastic workload has. `controller` is the value for its own controller in the field `managedBy`.
    `words` are texts that its controller chooses: names of roles and values of labels. `plain_keys`
    are keys of labels without a domain. Both are the same in every cluster.
    """

    name: str
    versions: tuple[GVR, ...] = ()
    struct: type[Wire] | None = None
    read: Callable[[Body], GangObject] | None = None
    if_unreadable: Unreadable | WhatHolds[GangObject] | None = None
    names_queues: bool = False
    pods: PodsOfKind | None = None
    source: GangSource | None = None
    by_members: ByMembers | None = None
    has_roles: bool = False
    creates: Callable[[Source], Iterator[Body]] | None = None
    pod_count: Callable[[Body], int] | None = None
    lateness: Callable[[Body], IsLate] | None = None
    phase: Phase = NO_PHASE
    suspend: Suspend | None = None
    owns: Owns | None = None
    replicas: ReplicaField | None = None
    starts_owned: bool = True
    controller: str = ""
    words: tuple[str, ...] = ()
    plain_keys: frozenset[str] = frozenset()

    @property
    def gang_source(self) -> GangSource | None:
        """The source of its gangs' names; None if no gang is named after objects of this kind."""
        return self.pods.source if self.pods is not None else self.source

    @property
    def key(self) -> tuple[str, str]:
        """The kind and the API group, as in manifests."""
        return self.name, self.versions[0].group


def served(crd: str, *versions: str) -> tuple[GVR, ...]:
    """Return the versions of a kind, given by its CRD name: PLURAL.GROUP."""
    plural, _, group = crd.partition(".")
    return tuple(GVR(group, version, plural) for version in versions)


def version_of(versions: tuple[GVR, ...], api_version: str) -> GVR:
    """Return the API version of an object, the best one if it is unknown."""
    return next((each for each in versions if each.api_version == api_version), versions[0])


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
"""Annotations that apply to all templates of a workload, even if only one template has them."""


def _unchecked(found: Elastic) -> Elastic:
    return found


def with_annotations(
    spec: GangSpec,
    workload: Metadata,
    templates: Iterable[Metadata],
    in_replicas: Callable[[Elastic], Elastic] = _unchecked,
) -> GangSpec:
    """Return the gang spec with annotations of the workload and its templates, or its problem.

    `in_replicas` is called for an elastic gang in mode Replicas. It returns the elastic annotation
    with the role that it is for, and raises InvalidField if the workload cannot have this mode.
    """
    faults, templates = Faults(), tuple(templates)
    present = _together(workload, templates, faults)
    options = faults.read(lambda: gang_annotations.read(present), GangOptions())
    request = faults.read(lambda: topology.network_topology_spec(present), None)
    lasts = faults.read(
        lambda: fields.expected_duration(workload.labels, workload.annotations), None
    )
    found = faults.read(lambda: elastic.elastic_of(present), None)
    if found is not None and found.role and found.role not in {each.name for each in spec.roles}:
        known = " or ".join(each.name for each in spec.roles)
        faults.add(InvalidField(f"{elastic.WHERE}.role", found.role, f"must be {known}"))
    for wrong in _in_vain(workload, templates):
        faults.add(wrong)
    try:
        faults.check()
    except InvalidField as error:
        return replace(spec, problem=Problem(Reason.INVALID_SPEC, InvalidInput(str(error))))
    try:
        if mode := elastic.unsupported(present, spec.key.source):
            raise mode
        if found is not None and found.by_replicas:
            found = in_replicas(found)
    except InvalidField as error:
        problem = Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(str(error)))
        return replace(spec, problem=spec.problem or problem)
    timeout = options.timeout_seconds or spec.options.timeout_seconds
    return replace(
        _elastic(spec, found),
        options=replace(options, timeout_seconds=timeout),
        topology_request=request,
        run_time=_run_time(spec.run_time, lasts),
    )


def _in_vain(workload: Metadata, templates: Iterable[Metadata]) -> Iterator[InvalidField]:
    """Yield the faults of labels and annotations that have no effect on a workload itself."""
    yield from known_keys.too_long(workload.labels, workload.annotations)
    yield from known_keys.unknown_labels(workload.labels)
    yield from known_keys.unknown_annotations(workload.annotations, workload.labels)
    yield from known_keys.misplaced_podset(workload.annotations)
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
    """Return the annotations for the whole gang; contradicting ones are faults, and left out."""
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
    """Return the gang spec in which the elastic role has the minimum of the annotation."""
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
