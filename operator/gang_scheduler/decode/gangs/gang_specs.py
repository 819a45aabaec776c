"""Gang specs, valid or not, from PodGroups of any API group, and from members."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import Faults, InvalidField, parse_spec
from gang_scheduler.api.pod_group import PodGroup, PodGroupSpec
from gang_scheduler.decode import durations, fields, keys
from gang_scheduler.decode.checkpoints import policies, reports
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import elastic as elastic_annotation
from gang_scheduler.decode.gangs import (
    evictions,
    gang_annotations,
    native_constraints,
)
from gang_scheduler.decode.gangs import roles as role_annotations
from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import FieldsUnsupported, InvalidInput
from gang_scheduler.model.checkpoints import CheckpointPolicy, Checkpoints, Save
from gang_scheduler.model.evictions import Evictions, RunTime
from gang_scheduler.model.gangs import Elastic, Role
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey, GangName, QueueRequest
from gang_scheduler.wire.metadata import Metadata, MetadataOnly
from gang_scheduler.wire.pod_groups import DisruptionMode, NativePodGroup, NativePodGroupSpec

DEFAULTS = GangOptions()
UNREAD = PodGroup(spec=PodGroupSpec(min_member=1))
"""Stands for a PodGroup that cannot be read until all of its faults are found."""
RESERVED, RESTING = "Reserved", "TimedOut"
"""A condition, and why a gang that had a reservation for long gets none for a while."""
MIN_COUNT = "spec.schedulingPolicy.gang.minCount"
NO_ROLES: tuple[Role, ...] = ()
MinMember = Callable[[Pod, tuple[Role, ...]], int]
"""What a member says of the quorum, beside the roles that it declares. Raises InvalidField."""
NATIVE_UNREAD = NativePodGroup(metadata=Metadata())


@dataclass(frozen=True, slots=True)
class GangSpec:
    """The declaration of one gang. With a `problem` the gang waits, and only its key counts.

    `gvr` is the kind of the object that declares it, None if members do. `apart`: every member is a
    gang of one. `roles` are those of which every quorum has a minimum, in rank order; their minima
    are together `min_member`. Fewer of the `elastic_role` than there are may start, "" for none.
    `elastic` is how it grows and shrinks, if the object says so.
    `priority` is None if the members' priorities decide. Of all
    `completions`, the succeeded ones are not needed any more; `finished`: none is.
    `topology_request` is the request of the whole gang. `disrupted_whole`: if one member is
    evicted, all are. `queue_request` is what the object says of the gang's queue, `run_time` how
    long its members run, and `checkpoint` how the gang saves its work. `saved` is what the object
    reports of that, and `checkpoints` what its status remembers. `made_for` is what the gang of the
    workload would be called whose controller made the object. `status` is what the object has now;
    from it are `was_scheduled`,
    `evictions`, when the gang last changed its size, to how many workers, by how many and why
    (`scaled`), until when the gang was let pass and by which other gang (`backfilled`), and in
    seconds since the epoch `scheduled_at`, `quorum_since`, and since when it has a reservation or
    gets none (`rests_since`). The scheduler writes the status, which without a status subresource
    moves the generation: so gang specs are equal without all of these.
    """

    key: GangKey
    uid: str
    gvr: GVR | None = None
    generation: int = field(default=0, compare=False)
    created_at: float = 0
    min_member: int = 1
    apart: bool = False
    roles: tuple[Role, ...] = ()
    elastic_role: str = ""
    elastic: Elastic | None = None
    priority: int | None = None
    min_resources: tuple[tuple[str, int], ...] = ()
    completions: int | None = None
    finished: bool = False
    options: GangOptions = DEFAULTS
    topology_request: TopologyRequest | None = None
    disrupted_whole: bool = False
    queue_request: QueueRequest | None = None
    run_time: RunTime | None = None
    checkpoint: CheckpointPolicy | None = None
    made_for: GangKey | None = None
    problem: Problem | None = None
    was_scheduled: bool = field(default=False, compare=False)
    scheduled_at: int = field(default=0, compare=False)
    quorum_since: int | None = field(default=None, compare=False)
    evictions: Evictions | None = field(default=None, compare=False)
    saved: Save | None = field(default=None, compare=False)
    checkpoints: Checkpoints | None = field(default=None, compare=False)
    status: Mapping[str, Any] = field(default_factory=dict, compare=False)
    scaled: tuple[int, int, int, str] | None = field(default=None, compare=False)
    backfilled: tuple[int, GangName] | None = field(default=None, compare=False)
    reserved_since: int = field(default=0, compare=False)
    rests_since: int = field(default=0, compare=False)


def pod_group(body: Mapping[str, Any]) -> GangSpec:
    """Return the gang spec of a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io."""
    seen = _seen(body, gang_sources.POD_GROUP.name)
    faults = Faults()
    try:
        metadata = fields.read(body, MetadataOnly).metadata
        present = metadata.annotations
        parsed = faults.read(lambda: parse_spec(PodGroup, body), UNREAD)
        for wrong in (
            *keys.unknown_labels(metadata.labels),
            *keys.unknown_annotations(present, metadata.labels),
            *keys.misplaced_podset(present),
        ):
            faults.add(wrong)
        if misplaced := naming.misplaced(metadata.labels, present):
            faults.add(misplaced)
        options = faults.read(lambda: gang_annotations.read(present), DEFAULTS)
        roles = faults.read(lambda: role_annotations.read(present), NO_ROLES)
        if roles and parsed is not UNREAD:
            minimum = parsed.spec.min_member
            faults.read(lambda: role_annotations.quorum(roles, minimum, "spec.minMember"), 0)
        topology_request = faults.read(lambda: gang_requests.network_topology_spec(present), None)
        lasts = faults.read(lambda: durations.expected(metadata.labels, present), None)
        elastic = faults.read(lambda: elastic_annotation.elastic_of(present), None)
        checkpoint = faults.read(lambda: policies.policy_of(present), None)
        not_read = (*keys.not_read(metadata.labels, present), *_other_mode(present))
        for each in not_read if faults else ():
            faults.add(each)
        faults.check()
        resources = amounts({**(parsed.spec.min_resources or {})}, "spec.minResources")
    except InvalidField as error:
        return replace(seen, problem=_invalid(error))
    if parsed.spec.schedule_timeout_seconds:
        options = replace(options, timeout_seconds=parsed.spec.schedule_timeout_seconds)
    return _checked(
        replace(
            seen,
            min_member=parsed.spec.min_member,
            roles=roles,
            elastic=elastic,
            min_resources=tuple(sorted(resources.items())),
            options=options,
            topology_request=topology_request,
            queue_request=naming.request_of(metadata.labels, present),
            run_time=None if lasts is None else RunTime(expected=lasts),
            checkpoint=checkpoint,
            saved=reports.of_annotations(present, checkpoint),
            made_for=_controller_of(metadata),
            problem=_not_read(not_read),
            was_scheduled=_is_true(seen.status, "Scheduled"),
            scheduled_at=_since(seen.status, "Scheduled"),
            quorum_since=_start_time(seen.status),
            scaled=_scaled(seen.status),
            backfilled=_backfilled(seen.status),
            reserved_since=_since(seen.status, RESERVED),
            rests_since=_since(seen.status, RESERVED, reason=RESTING),
        ),
        "spec.minMember",
    )


def native_pod_group(body: Mapping[str, Any]) -> GangSpec:
    """Return the gang spec of a PodGroup of scheduling.k8s.io, in any served version."""
    seen = _seen(body, gang_sources.NATIVE.name)
    faults = Faults()
    try:
        metadata = fields.read(body, MetadataOnly).metadata
        spec = faults.read(lambda: fields.read(body, NativePodGroup), NATIVE_UNREAD).spec
        present = metadata.annotations
        for wrong in (*keys.misplaced_podset(present), *keys.options_not_read(present)):
            faults.add(wrong)
        min_count = faults.read(lambda: _min_count(spec), 1)
        roles = faults.read(lambda: role_annotations.read(metadata.annotations), NO_ROLES)
        if roles and spec is not NATIVE_UNREAD.spec:
            faults.read(lambda: _quorum(spec, roles), 0)
        min_runtime = faults.read(lambda: gang_annotations.min_runtime(metadata.annotations), 0)
        force = faults.read(lambda: gang_annotations.force_delete(metadata.annotations), None)
        lasts = faults.read(lambda: durations.expected(metadata.labels, metadata.annotations), None)
        elastic = faults.read(lambda: elastic_annotation.elastic_of(metadata.annotations), None)
        checkpoint = faults.read(lambda: policies.policy_of(metadata.annotations), None)
        constraints = spec.scheduling_constraints
        topology_request = faults.read(
            lambda: native_constraints.native_constraint(constraints), None
        )
        unsupported = tuple(_not_yet(body, spec))
        for where in unsupported if faults else ():
            faults.add(InvalidField(where, None, "is not supported"))
        faults.check()
    except InvalidField as error:
        return replace(seen, problem=_invalid(error))
    said = replace(
        seen,
        min_member=min_count,
        roles=roles,
        apart=spec.scheduling_policy.gang is None,
        elastic=elastic,
        priority=spec.priority,
        options=replace(DEFAULTS, min_runtime_seconds=min_runtime, force_delete_seconds=force),
        topology_request=topology_request,
        disrupted_whole=_disrupts_all(spec.disruption_mode),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
        run_time=None if lasts is None else RunTime(expected=lasts),
        checkpoint=checkpoint,
        saved=reports.of_annotations(metadata.annotations, checkpoint),
        problem=_unsupported(unsupported) or _not_read(_other_mode(metadata.annotations)),
        was_scheduled=_is_true(seen.status, "PodGroupInitiallyScheduled"),
        scheduled_at=_since(seen.status, "PodGroupInitiallyScheduled"),
    )
    return said if said.apart else _checked(said, MIN_COUNT)


def by_members(key: GangKey, members: Iterable[Pod]) -> GangSpec | None:
    """Return the gang spec in the annotations of the oldest member whose annotations are valid.

    If no member's are, the problem is that of the oldest member; None without members.
    """
    return by_the_oldest(key, members, _min_available)


def by_the_oldest(
    key: GangKey,
    members: Iterable[Pod],
    min_member: MinMember,
    where: str = annotations.GANG_MIN_AVAILABLE,
) -> GangSpec | None:
    """Return the same where members say the quorum in another way, which raises InvalidField.

    The annotation `where` says it.
    """
    problem = None
    for pod in sorted(members, key=lambda each: (each.created_at, each.uid)):
        seen = GangSpec(key, pod.uid, created_at=pod.created_at)
        try:
            said = _said_by(pod, seen, min_member, where)
        except InvalidField as error:
            problem = problem or replace(seen, problem=_invalid(error))
        else:
            return _checked(said, fields.field(where))
    return problem


def _said_by(pod: Pod, seen: GangSpec, min_member: MinMember, where: str) -> GangSpec:
    """Return the gang spec in the annotations of a member. Raises InvalidField for all faults."""
    faults, present = Faults(), pod.annotations
    other = present.get(annotations.GANG_MIN_AVAILABLE)
    if other is not None and other != present.get(where):
        text = f"is not read where {fields.field(where)} says the quorum"
        faults.add(InvalidField(fields.field(annotations.GANG_MIN_AVAILABLE), None, text))
    roles = faults.read(lambda: role_annotations.read(present), NO_ROLES)
    said = replace(
        seen,
        min_member=faults.read(lambda: min_member(pod, roles), 1),
        roles=roles,
        elastic=faults.read(lambda: elastic_annotation.elastic_of(present), None),
        options=faults.read(lambda: gang_annotations.read(present), DEFAULTS),
        topology_request=faults.read(lambda: gang_requests.network_topology_spec(present), None),
    )
    faults.check()
    return said


def by_itself(key: GangKey, members: Iterable[Pod]) -> GangSpec | None:
    """Return the gang spec of a pod without a gang; None if it has no topology request.

    A pod that has just been replaced under its name does not count any more.
    """
    for pod in members:
        if pod.living and annotations.NETWORK_TOPOLOGY_SPEC in pod.annotations:
            return with_topology_request(
                GangSpec(key, pod.uid, created_at=pod.created_at), pod.annotations
            )
    return None


def with_topology_request(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with the topology request of annotations, or with their problem."""
    try:
        topology_request = gang_requests.network_topology_spec(present)
    except InvalidField as error:
        return replace(gang_spec, problem=_invalid(error))
    return replace(gang_spec, topology_request=topology_request)


def with_checkpoint(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with how the gang saves its work, or with the problem of that."""
    try:
        checkpoint = policies.policy_of(present)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or _invalid(error))
    saved = reports.of_annotations(present, checkpoint)
    return replace(gang_spec, checkpoint=checkpoint, saved=saved)


def with_elastic(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with the minimum and the pace of annotations, or with their problem."""
    try:
        elastic = elastic_annotation.elastic_of(present)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or _invalid(error))
    if elastic is None:
        return gang_spec
    least = gang_spec.min_member if elastic.role else elastic.min_workers
    if gang_spec.completions is not None:
        least = min(least, gang_spec.completions)
    problem = gang_spec.problem or _not_read(_other_mode(present))
    return replace(gang_spec, elastic=elastic, min_member=least, problem=problem)


def key_of(body: Mapping[str, Any], source: str) -> GangKey:
    """Return the key of the gang that an object of this name describes."""
    metadata = body.get("metadata") or {}
    return GangKey(source, metadata.get("namespace", ""), metadata.get("name", ""))


def _seen(body: Mapping[str, Any], source: str) -> GangSpec:
    metadata = body["metadata"]
    group, _, version = str(body.get("apiVersion", "")).partition("/")
    generation = metadata.get("generation")
    status = _readable(body.get("status"))
    return GangSpec(
        key=key_of(body, source),
        uid=metadata.get("uid", ""),
        gvr=GVR(group, version, "podgroups"),
        generation=generation if isinstance(generation, int) else 0,
        created_at=_time(metadata.get("creationTimestamp")),
        evictions=evictions.read(status),
        checkpoints=reports.of_status(status),
        status=status,
    )


def _controller_of(metadata: Metadata) -> GangKey | None:
    controllers = (each for each in metadata.owner_references if each.controller)
    found = next(controllers, None)
    return None if found is None else GangKey(found.kind, metadata.namespace, found.name)


def _checked(gang_spec: GangSpec, minimum: str) -> GangSpec:
    """Return the gang spec with the problem of fields that are valid, but not together.

    `minimum` is the field that says how many members the gang needs.
    """
    total = gang_spec.options.total
    wrong = elastic_annotation.contradiction(
        gang_spec.elastic, gang_spec.roles, gang_spec.min_member, minimum
    )
    if wrong is not None:
        return replace(gang_spec, problem=_invalid(wrong))
    if total is not None and total < gang_spec.min_member:
        where = fields.field(annotations.GANG_TOTAL_NUMBER)
        least = f"must be at least minMember {gang_spec.min_member}"
        return replace(gang_spec, problem=_invalid(InvalidField(where, total, least)))
    return gang_spec


def _min_count(spec: NativePodGroupSpec) -> int:
    gang = spec.scheduling_policy.gang
    if gang is not None and gang.min_count < 1:
        raise InvalidField(MIN_COUNT, gang.min_count, "must be at least 1")
    return 1 if gang is None else gang.min_count


def _disrupts_all(mode: DisruptionMode | str) -> bool:
    return mode == "PodGroup" if isinstance(mode, str) else mode.all is not None


def _not_yet(body: Mapping[str, Any], spec: NativePodGroupSpec) -> Iterator[str]:
    """Yield the fields of a native PodGroup that must not be ignored and are not supported yet."""
    if spec is NATIVE_UNREAD.spec:
        return
    constraints = (body.get("spec") or {}).get("schedulingConstraints") or {}
    yield from native_constraints.unknown_constraints(constraints)
    if spec.resource_claims:
        yield "spec.resourceClaims"
    if spec.parent_composite_pod_group_name:
        yield "spec.parentCompositePodGroupName"


def _quorum(spec: NativePodGroupSpec, roles: tuple[Role, ...]) -> int:
    gang = spec.scheduling_policy.gang
    if gang is None:
        where = "spec.schedulingPolicy.gang"
        raise InvalidField(where, None, f"is required beside {role_annotations.WHERE}")
    return role_annotations.quorum(roles, gang.min_count, MIN_COUNT)


def _min_available(pod: Pod, roles: tuple[Role, ...]) -> int:
    for present, key, where in (
        (pod.annotations, annotations.GANG_MIN_AVAILABLE, fields.field),
        (pod.labels, annotations.GANG_MIN_AVAILABLE_LABEL, keys.label_field),
    ):
        found = fields.whole_number(present, key, None)
        if found is not None:
            return role_annotations.quorum(roles, found, where(key)) if roles else found
    if roles:
        return role_annotations.quorum(roles, None, role_annotations.WHERE)
    raise InvalidField(fields.field(annotations.GANG_MIN_AVAILABLE), None, "is required")


def _is_true(status: Mapping[str, Any], condition: str) -> bool:
    return any(
        each["type"] == condition and each.get("status") == "True"
        for each in status.get("conditions") or []
    )


def _since(status: Mapping[str, Any], condition: str, reason: str = "") -> int:
    """Return since when a condition is true, in seconds since the epoch; 0 if unknown.

    With a `reason`: since when it is false for that reason.
    """
    for each in status.get("conditions") or []:
        said = (each["type"], each.get("status"), reason and each.get("reason"))
        if said == (condition, "False" if reason else "True", reason):
            return _time(each.get("lastTransitionTime"))
    return 0


def _backfilled(status: Mapping[str, Any]) -> tuple[int, GangName] | None:
    """Return until when a gang was let pass, in seconds since the epoch, and by which gang."""
    found = status.get("backfill")
    if not isinstance(found, Mapping):
        return None
    until, (namespace, _, name) = _time(found.get("until")), str(found.get("for")).partition("/")
    return (until, GangName(namespace, name)) if until and name else None


def _scaled(status: Mapping[str, Any]) -> tuple[int, int, int, str] | None:
    """Return when a gang last changed its size, to how many workers, by how many, and why."""
    found = status.get("elastic")
    if not isinstance(found, Mapping):
        return None
    at, size, by = _time(found.get("lastScaleTime")), found.get("now"), found.get("lastScale")
    if not at or not isinstance(size, int) or not isinstance(by, int):
        return None
    return at, size, by, str(found.get("reason"))


def _start_time(status: Mapping[str, Any]) -> int | None:
    return _time(status.get("scheduleStartTime")) or None


def _time(text: object) -> int:
    """Return a time in seconds since the epoch; 0 if it cannot be read, without an error."""
    try:
        return fields.timestamp(text) if isinstance(text, str) else 0
    except InvalidField:
        return 0


def _readable(status: object) -> Mapping[str, Any]:
    """Return a status without unreadable parts: another product's CRD may not check the status."""
    if not isinstance(status, Mapping):
        return {}
    conditions = status.get("conditions") or []
    if isinstance(conditions, list) and all(_is_condition(each) for each in conditions):
        return status
    return {**status, "conditions": []}


def _is_condition(found: object) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get("type"), str)


def _invalid(error: InvalidField) -> Problem:
    return Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))


def _other_mode(present: Mapping[str, str]) -> tuple[InvalidField, ...]:
    """Return the mode of an elastic gang, if it is one that is not supported."""
    wrong = elastic_annotation.unsupported(present)
    return () if wrong is None else (wrong,)


def _not_read(found: tuple[InvalidField, ...]) -> Problem | None:
    text = "; ".join(map(str, found))
    return Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(text)) if found else None


def _unsupported(found: tuple[str, ...]) -> Problem | None:
    return Problem(Reason.UNSUPPORTED_FEATURE, FieldsUnsupported(found)) if found else None
