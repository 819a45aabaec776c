"""The gang spec: the declaration of a gang, from an object or from its members."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import checkpoints, foreign_marks, gang_annotations, topology
from gang_scheduler.decode import elastic as elastic_annotation
from gang_scheduler.decode import fields as decode_fields
from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.decode.gangs import status_fields
from gang_scheduler.decode.gangs.status_fields import readable_status
from gang_scheduler.model import wording
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.checkpoints import CheckpointPolicy, Checkpoints, Save
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.model.evictions import Evictions, RunTime
from gang_scheduler.model.gangs import OwnDomains, Role
from gang_scheduler.model.pods import Elastic, Pod, VirtualPods
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.records import record
from gang_scheduler.model.refs import (
    GangKey,
    GangName,
    JobFailures,
    JobPods,
    QueueName,
    QueueRequest,
    WorkloadRef,
)
from gang_scheduler.model.suspended import ManagedWorkload, MemberTemplate
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.wire.base import Metadata

DEFAULTS = GangOptions()
NO_ROLES: tuple[Role, ...] = ()


@record
class GangSpec:
    """The declaration of one gang. With a `problem` the gang waits, and only its key counts.

    `gvr` is the kind of the declaring object, None if members declare the gang. `each_alone`: every
    member is a gang of one. `roles` are the roles with a minimum in every quorum, in rank order;
    their minima sum up to `min_member`. The gang may start with fewer members of the `elastic_role`
    than exist, "" for none. `elastic` is how the gang grows and shrinks, if declared. `held_back`
    is how many pods of each of its Jobs are created only once the first pod has a node, in one of
    its `own_domains`.

    `priority` is None if the members' priorities decide. `priority_class` is the class that members
    must have, "" if the object names none. `preempts` is whether members may evict others, None if
    undeclared. Not `preemptable`: none of its pods is evicted for others. `completions` is how many
    pods must succeed in total; members that have succeeded are no longer needed. `finished`: no
    member is needed any more. `topology_request` is the request of the whole gang.
    `disrupted_whole`: if one member is evicted, all are. `suspended`: no pods are to be created.
    `queue_request` is the queue that the object names, `run_time` the declared run time of its
    members, and `checkpoint` how the gang saves its work.

    `claims` are those of the object: all members that have an equal entry share one.
    `saved` is the checkpoint that the object reports, and `checkpoints` are in its status.
    `made_for` is the name of the workload's gang, if the workload's controller created the object.

    `status` is the current status of the object. It provides `was_scheduled`, `evictions`, the last
    change of size (`scaled`: when, to how many workers, by how many and why), the end of a backfill
    and the gang it passed (`backfilled`), and in seconds since the epoch `scheduled_at`,
    `quorum_since`, `reserved_since` and `rests_since`, since when it gets no reservation. The
    scheduler writes the status, and each write raises the generation of an object without a status
    subresource. So gang specs are compared without these fields.
    """

    key: GangKey
    uid: str
    gvr: GVR | None = None
    generation: int = field(default=0, compare=False)
    created_at: float = 0
    min_member: int = 1
    each_alone: bool = False
    roles: tuple[Role, ...] = ()
    elastic_role: str = ""
    elastic: Elastic | None = None
    priority: int | None = None
    priority_class: str = ""
    preempts: bool | None = None
    preemptable: bool = True
    min_resources: tuple[tuple[str, int], ...] = ()
    held_back: int = 0
    own_domains: OwnDomains | None = None
    completions: int | None = None
    finished: bool = False
    options: GangOptions = DEFAULTS
    topology_request: TopologyRequest | None = None
    disrupted_whole: bool = False
    suspended: bool = field(default=False, compare=False)
    queue_request: QueueRequest | None = None
    run_time: RunTime | None = None
    checkpoint: CheckpointPolicy | None = None
    claims: tuple[PodClaim, ...] = ()
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


def with_topology_request(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with the topology request of annotations, or with its fault."""
    try:
        topology_request = topology.network_topology_spec(present)
    except InvalidField as error:
        return replace(gang_spec, problem=invalid_spec(error))
    return replace(gang_spec, topology_request=topology_request)


def with_checkpoint(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with its checkpoint policy, or with the fault of that policy."""
    try:
        checkpoint = checkpoints.policy_of(present)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or invalid_spec(error))
    saved = checkpoints.of_annotations(present, checkpoint)
    return replace(gang_spec, checkpoint=checkpoint, saved=saved)


def with_foreign_marks(gang_spec: GangSpec, workload: Metadata) -> GangSpec:
    """Return the gang spec with the problem of unsupported keys of other products."""
    found = "; ".join(map(str, foreign_marks.refused(workload.labels, workload.annotations)))
    if not found or gang_spec.problem is not None:
        return gang_spec
    return replace(gang_spec, problem=Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(found)))


def with_run_time(gang_spec: GangSpec, workload: Metadata) -> GangSpec:
    """Return the gang spec with the run time that a workload declares, or with its fault."""
    try:
        lasts = decode_fields.expected_duration(workload.labels, workload.annotations)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or invalid_spec(error))
    return gang_spec if lasts is None else replace(gang_spec, run_time=RunTime(expected=lasts))


def with_elastic(
    gang_spec: GangSpec, present: Mapping[str, str], kind: str = "", why: str = ""
) -> GangSpec:
    """Return the gang spec with the elastic limits and pace of annotations, or with their problem.

    `kind` is the kind of the workload that has the annotations. `why` is a clause that says why the
    number of its pods cannot be changed.
    """
    try:
        elastic = elastic_annotation.elastic_of(present)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or invalid_spec(error))
    if elastic is None:
        return gang_spec
    least = gang_spec.min_member if elastic.role else elastic.min_workers
    if gang_spec.completions is not None:
        least = min(least, gang_spec.completions)
    problem = gang_spec.problem or unsupported_inputs(unsupported_mode(present, kind, why))
    return replace(gang_spec, elastic=elastic, min_member=least, problem=problem)


def key_of(body: Mapping[str, Any], source: str) -> GangKey:
    """Return the key of the gang that an object describes, which has the object's name."""
    metadata = body.get("metadata") or {}
    return GangKey(source, metadata.get("namespace") or "", metadata.get("name") or "")


def without_spec(body: Mapping[str, Any], source: str) -> GangSpec:
    """Return the declaration from the metadata and status of a PodGroup whose spec is invalid."""
    metadata = body["metadata"]
    group, _, version = str(body.get("apiVersion", "")).partition("/")
    generation = metadata.get("generation")
    status = readable_status(body.get("status"))
    return GangSpec(
        key=key_of(body, source),
        uid=metadata.get("uid", ""),
        gvr=GVR(group, version, "podgroups"),
        generation=generation if isinstance(generation, int) else 0,
        created_at=decode_fields.timestamp_or_zero(metadata.get("creationTimestamp")),
        evictions=status_fields.read_evictions(status),
        checkpoints=checkpoints.of_status(status),
        status=status,
    )


def checked_together(gang_spec: GangSpec, minimum: str) -> GangSpec:
    """Return the gang spec with the problem of fields that are valid, but contradict each other.

    `minimum` is the field with the quorum.
    """
    total = gang_spec.options.total
    wrong = elastic_annotation.contradiction(
        gang_spec.elastic, gang_spec.roles, gang_spec.min_member, minimum
    )
    if wrong is not None:
        return replace(gang_spec, problem=invalid_spec(wrong))
    if total is not None and total < gang_spec.min_member:
        where = wording.field(annotations.GANG_TOTAL_NUMBER)
        least = f"must be at least minMember ({gang_spec.min_member})"
        return replace(gang_spec, problem=invalid_spec(InvalidField(where, total, least)))
    return gang_spec


def invalid_spec(error: InvalidField) -> Problem:
    """Return the problem of a gang with faults."""
    return Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))


def unsupported_mode(
    present: Mapping[str, str], kind: str = "", why: str = ""
) -> tuple[InvalidField, ...]:
    """Return the fault of an elastic gang's mode; empty if the mode is supported."""
    wrong = elastic_annotation.unsupported(present, kind, why)
    return () if wrong is None else (wrong,)


def unsupported_inputs(found: tuple[InvalidField, ...]) -> Problem | None:
    """Return the problem of a gang with unsupported requests; None without one."""
    text = "; ".join(map(str, found))
    return Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(text)) if found else None


# A PodGroup that a controller made for its workload gets its roles from the workload: the
# controller only writes the total number of members, as if all were alike.


def with_roles_of(pod_group: GangSpec, workload: GangSpec) -> GangSpec:
    """Return the gang spec with the roles of the workload, and its other declarations.

    minMember then counts the elastic role and all roles before it, unless the workload declares the
    range in which its workers may grow and shrink.
    """
    roles = workload.roles
    if not roles or pod_group.roles or pod_group.problem is not None:
        return pod_group
    names = [each.name for each in roles]
    if workload.elastic_role in names and workload.elastic is None:
        place = names.index(workload.elastic_role)
        others = sum(map(_all, roles[:place]))
        least = max(1, min(pod_group.min_member - others, _all(roles[place])))
        elastic = roles[place]._replace(min_member=least)
        roles = (*roles[:place], elastic, *roles[place + 1 :])
    return replace(
        pod_group,
        roles=roles,
        elastic=pod_group.elastic or workload.elastic,
        min_member=max(1, sum(each.min_member for each in roles)),
        topology_request=pod_group.topology_request or workload.topology_request,
        queue_request=pod_group.queue_request or workload.queue_request,
        options=_options(pod_group.options, workload.options),
    )


def _options(own: GangOptions, of_workload: GangOptions) -> GangOptions:
    """Return the options of a PodGroup, completed by the options of its workload."""
    said = {each.name: getattr(own, each.name) for each in fields(own)}
    others = {name: it for name, it in said.items() if it != getattr(DEFAULTS, name)}
    return replace(of_workload, **others)


def _all(role: Role) -> int:
    return role.min_member if role.max_member is None else role.max_member


# Gang specs that members declare, valid or not.

MinMember = Callable[[Pod, tuple[Role, ...]], int]
"""Reads the quorum that a member declares, in addition to its roles. Raises InvalidField."""


def by_members(key: GangKey, members: Iterable[Pod]) -> GangSpec | None:
    """Return the gang spec of the oldest member with valid annotations.

    If no member has valid annotations, the problem of the oldest member counts. None without
    members. If some members live, only these count.
    """
    return by_the_oldest(key, members, _min_available)


def by_the_oldest(
    key: GangKey,
    members: Iterable[Pod],
    min_member: MinMember,
    where: str = annotations.GANG_MIN_AVAILABLE,
) -> GangSpec | None:
    """Return the same as `by_members`, but with the quorum that `min_member` reads.

    `where` is the key of the annotation with the quorum. `min_member` may raise InvalidField.
    """
    problem = None
    for pod in sorted(members, key=lambda each: (each.created_at, each.uid)):
        seen = GangSpec(key, pod.uid, created_at=pod.created_at)
        try:
            said = _said_by(pod, seen, min_member, where)
        except InvalidField as error:
            problem = problem or replace(seen, problem=invalid_spec(error))
        else:
            return checked_together(said, wording.field(where))
    return problem


def _said_by(pod: Pod, seen: GangSpec, min_member: MinMember, where: str) -> GangSpec:
    """Return the gang spec in the annotations of a member. Raises InvalidField for all faults."""
    faults, present = Faults(), pod.annotations
    other = present.get(annotations.GANG_MIN_AVAILABLE)
    if other is not None and other != present.get(where):
        text = f"is not read where {wording.field(where)} says the quorum"
        faults.add(InvalidField(wording.field(annotations.GANG_MIN_AVAILABLE), None, text))
    roles = faults.read(lambda: elastic_annotation.read_roles(present), NO_ROLES)
    said = replace(
        seen,
        min_member=faults.read(lambda: min_member(pod, roles), 1),
        roles=roles,
        elastic=faults.read(lambda: elastic_annotation.elastic_of(present), None),
        options=faults.read(lambda: gang_annotations.read(present), DEFAULTS),
        topology_request=faults.read(lambda: topology.network_topology_spec(present), None),
    )
    faults.check()
    return said


def by_itself(key: GangKey, members: Iterable[Pod]) -> GangSpec | None:
    """Return the gang spec of a pod without a gang; None if it has no topology request.

    Only a living pod counts: an ended one may have been replaced by another pod of its name.
    """
    for pod in members:
        if pod.living and annotations.NETWORK_TOPOLOGY_SPEC in pod.annotations:
            return with_topology_request(
                GangSpec(key, pod.uid, created_at=pod.created_at), pod.annotations
            )
    return None


def _min_available(pod: Pod, roles: tuple[Role, ...]) -> int:
    for present, key, where in (
        (pod.annotations, annotations.GANG_MIN_AVAILABLE, wording.field),
        (pod.labels, annotations.GANG_MIN_AVAILABLE_LABEL, wording.label_field),
    ):
        found = decode_fields.whole_number(present, key, None)
        if found is not None:
            return elastic_annotation.quorum_of_roles(roles, found, where(key)) if roles else found
    if roles:
        return elastic_annotation.quorum_of_roles(roles, None, elastic_annotation.WHERE_ROLES)
    raise InvalidField(wording.field(annotations.GANG_MIN_AVAILABLE), None, "is required")


# Workloads that wait suspended in a queue, and workloads that were started.


class VirtualGang(NamedTuple):
    """The members that a suspended workload would have in one gang, and their templates."""

    key: GangKey
    pods: VirtualPods
    templates: tuple[MemberTemplate, ...]


@dataclass(frozen=True, slots=True)
class SuspendedWorkload:
    """A workload that waits suspended.

    `names` are the queues that it and its templates name. Without `gangs`, the workload that it
    owns declares the members (`OwnedWorkload`). `at_once` is how many pods its spec requests, if
    that can be changed once it runs. `awaits_ends`: its controller replaces a terminating pod only
    after its end.
    """

    workload: ManagedWorkload
    gangs: tuple[VirtualGang, ...]
    names: tuple[QueueName, ...]
    at_once: int = 0
    awaits_ends: bool = False


class Planned(NamedTuple):
    """The planned nodes of a workload's members when it was started, in their order.

    "" is the node of a member without a place. `flavors` are pairs of a resource and its flavor, as
    a binding would name them. Without `gangs`, another workload that it owns declares the members
    (`OwnedWorkload`).
    """

    gangs: tuple[VirtualGang, ...]
    nodes: tuple[str, ...]
    flavors: tuple[tuple[str, str], ...] = ()


class OwnedWorkload(NamedTuple):
    """A workload that another one creates: it is suspended and started through its owner.

    `owner` is the uid of the owner, and `namespace` its own. `keys` are the gangs of the pods.
    `gangs` has their members while it waits, if only the owned workload declares them. `names` are
    the queues that it and its templates name. `expanded` returns the members while it runs, if only
    it declares them: after a restart some may not exist yet.
    """

    owner: str
    namespace: str = ""
    keys: tuple[GangKey, ...] = ()
    gangs: tuple[VirtualGang, ...] = ()
    names: tuple[QueueName, ...] = ()
    expanded: Callable[[], tuple[VirtualGang, ...]] | None = None


class Managed(NamedTuple):
    """A workload that was started, and when, in seconds since the epoch.

    `gangs` are the gangs of its pods, or the gangs that single pods would have. `planned` is None
    if the workload does not record it. `at_once` is as for a suspended workload.
    """

    workload: ManagedWorkload
    admitted_at: int
    gangs: tuple[GangKey, ...] = ()
    planned: Planned | None = None
    at_once: int = 0


@dataclass(frozen=True, slots=True)
class MisplacedRequest:
    """A gang request of a workload in the wrong place; `problem` is for its pods without a gang.

    `schedulers` are the schedulers of these pods; none if the workload has ended, or is a part of a
    larger one.
    """

    workload: WorkloadRef
    problem: Problem
    schedulers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GangObject:
    """An object that describes gangs: none, one, or several that form a group.

    `misplaced` is a request of the workload in the wrong place, `queue_request` the queue that it
    names for its pods, and `workload` how pods refer to it: by its uid, or by namespace/name.

    For a Job, `pods` is how many it can have, `run_time` its declared run time, with the fault in
    it, `failures` how evictions count for it, and `failed_gang` the gang of its pods if it has
    failed. For a JobSet, `parts` are its replicatedJobs with the most pods of each. For a JobSet of
    a TrainJob, `by_default` are its gangs if pods of TrainJobs are gangs without opting in.

    `in_order`: some of its pods are created only after others. `suspended` is a workload that waits
    in a queue without pods, and `managed` a workload that was started by this scheduler. `owned` is
    set if such a workload created this one. If it is not `readable`, all of these keep their
    earlier values.
    """

    uid: str
    gang_specs: tuple[GangSpec, ...] = ()
    misplaced: MisplacedRequest | None = None
    pods: JobPods | None = None
    parts: tuple[tuple[str, int], ...] = ()
    by_default: tuple[GangSpec, ...] | None = None
    in_order: bool = False
    failures: JobFailures | None = None
    failed_gang: GangKey | None = None
    workload: str = ""
    queue_request: QueueRequest | None = None
    run_time: RunTime | None = None
    run_time_problem: Problem | None = None
    suspended: SuspendedWorkload | None = None
    managed: Managed | None = None
    owned: OwnedWorkload | None = None
    readable: bool = True
