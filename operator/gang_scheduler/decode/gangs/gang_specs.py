"""What the declaration of a gang says, whichever object it is read from."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import durations, fields, foreign_marks
from gang_scheduler.decode.checkpoints import policies, reports
from gang_scheduler.decode.gangs import elastic as elastic_annotation
from gang_scheduler.decode.gangs import (
    evictions,
)
from gang_scheduler.decode.gangs.gang_annotations import GangOptions
from gang_scheduler.decode.gangs.remembered import readable_status, seconds_of
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.checkpoints import CheckpointPolicy, Checkpoints, Save
from gang_scheduler.model.evictions import Evictions, RunTime
from gang_scheduler.model.gangs import Elastic, OwnDomains, Role
from gang_scheduler.model.network.topology_request import TopologyRequest
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.records import record
from gang_scheduler.model.refs import GangKey, GangName, QueueRequest
from gang_scheduler.wire.metadata import Metadata

DEFAULTS = GangOptions()
NO_ROLES: tuple[Role, ...] = ()


@record
class GangSpec:
    """The declaration of one gang. With a `problem` the gang waits, and only its key counts.

    `gvr` is the kind of the object that declares it, None if members do. `apart`: every member is a
    gang of one. `roles` are those of which every quorum has a minimum, in rank order; their minima
    are together `min_member`. Fewer of the `elastic_role` than there are may start, "" for none.
    `elastic` is how it grows and shrinks, if the object says so. `held_back` is how many pods of
    each of its Jobs are created only once the first one has a node, in one of its `own_domains`.
    `priority` is None if the members' priorities decide; `priority_class` is what a member must be
    of, "" if the object names none. Not `preemptable`: none of its pods makes room for others. Of
    all `completions`, the succeeded ones are not needed any more; `finished`: none is.
    `topology_request` is the request of the whole gang. `disrupted_whole`: if one member is
    evicted, all are. `suspended`: no pods are to be created. `queue_request` is what the object
    says of the gang's queue, `run_time` how long its members run, and `checkpoint` how the gang
    saves its work. `saved` is what the object reports of that, and `checkpoints` what its status
    remembers.
    `made_for` is what the gang of the
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
    priority_class: str = ""
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
    """Return the gang spec with the topology request of annotations, or with their problem."""
    try:
        topology_request = gang_requests.network_topology_spec(present)
    except InvalidField as error:
        return replace(gang_spec, problem=invalid_spec(error))
    return replace(gang_spec, topology_request=topology_request)


def with_checkpoint(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with how the gang saves its work, or with the problem of that."""
    try:
        checkpoint = policies.policy_of(present)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or invalid_spec(error))
    saved = reports.of_annotations(present, checkpoint)
    return replace(gang_spec, checkpoint=checkpoint, saved=saved)


def with_foreign_marks(gang_spec: GangSpec, workload: Metadata) -> GangSpec:
    """Return the gang spec with what the workload itself asks for that is not given here."""
    found = "; ".join(map(str, foreign_marks.refused(workload.labels, workload.annotations)))
    if not found or gang_spec.problem is not None:
        return gang_spec
    return replace(gang_spec, problem=Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(found)))


def with_run_time(gang_spec: GangSpec, workload: Metadata) -> GangSpec:
    """Return the gang spec with how long a workload says that it runs, or with its problem."""
    try:
        lasts = durations.expected(workload.labels, workload.annotations)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or invalid_spec(error))
    return gang_spec if lasts is None else replace(gang_spec, run_time=RunTime(expected=lasts))


def with_elastic(gang_spec: GangSpec, present: Mapping[str, str]) -> GangSpec:
    """Return the gang spec with the minimum and the pace of annotations, or with their problem."""
    try:
        elastic = elastic_annotation.elastic_of(present)
    except InvalidField as error:
        return replace(gang_spec, problem=gang_spec.problem or invalid_spec(error))
    if elastic is None:
        return gang_spec
    least = gang_spec.min_member if elastic.role else elastic.min_workers
    if gang_spec.completions is not None:
        least = min(least, gang_spec.completions)
    problem = gang_spec.problem or unsupported_inputs(unsupported_mode(present))
    return replace(gang_spec, elastic=elastic, min_member=least, problem=problem)


def key_of(body: Mapping[str, Any], source: str) -> GangKey:
    """Return the key of the gang that an object of this name describes."""
    metadata = body.get("metadata") or {}
    return GangKey(source, metadata.get("namespace") or "", metadata.get("name") or "")


def without_spec(body: Mapping[str, Any], source: str) -> GangSpec:
    """Return what the metadata and the status of a PodGroup say, however wrong its spec is."""
    metadata = body["metadata"]
    group, _, version = str(body.get("apiVersion", "")).partition("/")
    generation = metadata.get("generation")
    status = readable_status(body.get("status"))
    return GangSpec(
        key=key_of(body, source),
        uid=metadata.get("uid", ""),
        gvr=GVR(group, version, "podgroups"),
        generation=generation if isinstance(generation, int) else 0,
        created_at=seconds_of(metadata.get("creationTimestamp")),
        evictions=evictions.read(status),
        checkpoints=reports.of_status(status),
        status=status,
    )


def checked_together(gang_spec: GangSpec, minimum: str) -> GangSpec:
    """Return the gang spec with the problem of fields that are valid, but not together.

    `minimum` is the field that says how many members the gang needs.
    """
    total = gang_spec.options.total
    wrong = elastic_annotation.contradiction(
        gang_spec.elastic, gang_spec.roles, gang_spec.min_member, minimum
    )
    if wrong is not None:
        return replace(gang_spec, problem=invalid_spec(wrong))
    if total is not None and total < gang_spec.min_member:
        where = fields.field(annotations.GANG_TOTAL_NUMBER)
        least = f"must be at least minMember {gang_spec.min_member}"
        return replace(gang_spec, problem=invalid_spec(InvalidField(where, total, least)))
    return gang_spec


def invalid_spec(error: InvalidField) -> Problem:
    """Return the problem of a gang with faults."""
    return Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))


def unsupported_mode(present: Mapping[str, str]) -> tuple[InvalidField, ...]:
    """Return the mode of an elastic gang, if it is one that is not supported."""
    wrong = elastic_annotation.unsupported(present)
    return () if wrong is None else (wrong,)


def unsupported_inputs(found: tuple[InvalidField, ...]) -> Problem | None:
    """Return the problem of a gang that asks for what is not done here, if it does."""
    text = "; ".join(map(str, found))
    return Problem(Reason.UNSUPPORTED_FEATURE, InvalidInput(text)) if found else None
