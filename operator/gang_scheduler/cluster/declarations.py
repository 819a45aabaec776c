"""What an object says of a gang, valid or not: PodGroups of any API group, and members."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField, parse_spec
from gang_scheduler.api.pod_group import PodGroup
from gang_scheduler.cluster import decode, gang_options, sources, wire
from gang_scheduler.cluster.gang_options import GangOptions
from gang_scheduler.cluster.pod_requests import amounts
from gang_scheduler.cluster.ports import Resource
from gang_scheduler.model.gangs import GangKey, Problem, Reason
from gang_scheduler.model.pods import Pod

# Understood by a later version. Ignoring it would break a promise that the user relies on.
NOT_YET = (annotations.NETWORK_TOPOLOGY_SPEC,)
DEFAULTS = GangOptions()


@dataclass(frozen=True, slots=True)
class Declaration:
    """What is said of one gang. With a `problem` the gang waits, and only its key counts.

    `resource` is the kind of the object that says it, None where members do. `priority` is None
    where the members' decides. Of `completions` in all, those that succeeded are not needed any
    more; `finished` says that nothing is. `status` is what is written on the object now, and
    `was_scheduled` and `quorum_since` what it says of the gang. We write all of it, and where there
    is no status subresource that moves the generation: so none of it makes a declaration differ.
    """

    key: GangKey
    uid: str
    resource: Resource | None = None
    generation: int = field(default=0, compare=False)
    created_at: int = 0
    min_member: int = 1
    priority: int | None = None
    min_resources: tuple[tuple[str, int], ...] = ()
    completions: int | None = None
    finished: bool = False
    options: GangOptions = DEFAULTS
    problem: Problem | None = None
    was_scheduled: bool = field(default=False, compare=False)
    quorum_since: int | None = field(default=None, compare=False)
    status: Mapping[str, Any] = field(default_factory=dict, compare=False)


def pod_group(body: Mapping[str, Any]) -> Declaration:
    """Return what a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io says."""
    seen = _seen(body, sources.POD_GROUP.name)
    try:
        parsed = parse_spec(PodGroup, body)
        options = gang_options.read(body["metadata"].get("annotations") or {})
        minimum = amounts({**(parsed.spec.min_resources or {})}, "spec.minResources")
    except InvalidField as error:
        return replace(seen, problem=_invalid(error))
    if parsed.spec.schedule_timeout_seconds is not None:
        options = replace(options, timeout_seconds=parsed.spec.schedule_timeout_seconds)
    return _checked(
        replace(
            seen,
            min_member=parsed.spec.min_member,
            min_resources=tuple(sorted(minimum.items())),
            options=options,
            was_scheduled=_is_true(seen.status, "Scheduled"),
            quorum_since=_start_time(seen.status),
        ),
        body["metadata"].get("annotations") or {},
    )


def native_pod_group(body: Mapping[str, Any]) -> Declaration:
    """Return what a PodGroup of scheduling.k8s.io says, in any served version."""
    seen = _seen(body, sources.NATIVE.name)
    try:
        spec = decode.read(body, wire.NativePodGroup).spec
    except InvalidField as error:
        return replace(seen, problem=_invalid(error))
    gang = spec.scheduling_policy.gang
    if gang is not None and gang.min_count < 1:
        wrong = InvalidField(
            "spec.schedulingPolicy.gang.minCount", gang.min_count, "must be at least 1"
        )
        return replace(seen, problem=_invalid(wrong))
    not_yet = {
        "spec.schedulingConstraints": spec.scheduling_constraints,
        "spec.resourceClaims": spec.resource_claims,
        "spec.parentCompositePodGroupName": spec.parent_composite_pod_group_name,
    }
    unsupported = next((name for name, value in not_yet.items() if value), None)
    return replace(
        seen,
        min_member=gang.min_count if gang is not None else 1,
        priority=spec.priority,
        problem=_unsupported(unsupported) if unsupported else None,
        was_scheduled=_is_true(seen.status, "PodGroupInitiallyScheduled"),
    )


def by_members(key: GangKey, members: Iterable[Pod]) -> Declaration | None:
    """Return what the annotations of the oldest member that has valid ones say.

    Where none has, the oldest member's error is the gang's problem; None without members.
    """
    problem = None
    for pod in sorted(members, key=lambda each: (each.created_at, each.uid)):
        seen = Declaration(key, pod.uid, created_at=pod.created_at)
        try:
            minimum = _min_available(pod)
            options = gang_options.read(pod.annotations)
        except InvalidField as error:
            problem = problem or replace(seen, problem=_invalid(error))
        else:
            said = replace(seen, min_member=minimum, options=options)
            return _checked(said, pod.annotations)
    return problem


def key_of(body: Mapping[str, Any], source: str) -> GangKey:
    """Return the key of the gang that an object of this name describes."""
    metadata = body.get("metadata") or {}
    return GangKey(source, metadata.get("namespace", ""), metadata.get("name", ""))


def _seen(body: Mapping[str, Any], source: str) -> Declaration:
    metadata = body.get("metadata") or {}
    group, _, version = str(body.get("apiVersion", "")).partition("/")
    return Declaration(
        key=key_of(body, source),
        uid=metadata.get("uid", ""),
        resource=Resource(group, version, "podgroups"),
        generation=metadata.get("generation", 0),
        created_at=decode.timestamp(metadata.get("creationTimestamp") or ""),
        status=_readable(body.get("status")),
    )


def _checked(declaration: Declaration, present: Mapping[str, str]) -> Declaration:
    """Add the problem of fields that are fine by themselves and not together."""
    total = declaration.options.total
    if total is not None and total < declaration.min_member:
        where = gang_options.field(annotations.GANG_TOTAL_NUMBER)
        least = f"must be at least minMember {declaration.min_member}"
        return replace(declaration, problem=_invalid(InvalidField(where, total, least)))
    found = next((key for key in NOT_YET if key in present), None)
    if found is not None:
        return replace(declaration, problem=_unsupported(gang_options.field(found)))
    return declaration


def _min_available(pod: Pod) -> int:
    for present, key in (
        (pod.annotations, annotations.GANG_MIN_AVAILABLE),
        (pod.labels, annotations.GANG_MIN_AVAILABLE_LABEL),
    ):
        found = gang_options.whole_number(present, key, None)
        if found is not None:
            return found
    raise InvalidField(gang_options.field(annotations.GANG_MIN_AVAILABLE), None, "is required")


def _is_true(status: Mapping[str, Any], condition: str) -> bool:
    return any(
        each["type"] == condition and each.get("status") == "True"
        for each in status.get("conditions") or []
    )


def _start_time(status: Mapping[str, Any]) -> int | None:
    try:
        return decode.timestamp(status.get("scheduleStartTime") or "") or None
    except InvalidField:
        return None


def _readable(status: object) -> Mapping[str, Any]:
    """Return a status without what cannot be read: another product's CRD lets anything in."""
    if not isinstance(status, Mapping):
        return {}
    conditions = status.get("conditions") or []
    if isinstance(conditions, list) and all(_is_condition(each) for each in conditions):
        return status
    return {**status, "conditions": []}


def _is_condition(found: object) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("type"), str)


def _invalid(error: InvalidField) -> Problem:
    return Problem(Reason.INVALID_SPEC, str(error))


def _unsupported(where: str) -> Problem:
    return Problem(Reason.UNSUPPORTED_FEATURE, f"{where} cannot be honoured by this scheduler yet")
