"""Gang specs of PodGroups of all three API groups, valid or not."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from gang_scheduler.api.parsing import Faults, InvalidField, parse_spec
from gang_scheduler.api.pod_group import PodGroup, PodGroupSpec
from gang_scheduler.decode import (
    checkpoints,
    fields,
    gang_annotations,
    known_keys,
    topology,
)
from gang_scheduler.decode import elastic as elastic_annotation
from gang_scheduler.decode.fields import amounts, label_layer
from gang_scheduler.decode.gangs.specs import (
    DEFAULTS,
    NO_ROLES,
    GangObject,
    GangSpec,
    checked_together,
    invalid_spec,
    unsupported_inputs,
    unsupported_mode,
    without_spec,
)
from gang_scheduler.decode.gangs.status_fields import (
    RESERVED,
    RESTING,
    backfill_of,
    condition_since,
    is_true,
    scale_of,
    start_time,
)
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import FieldsUnsupported
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.wire.base import Metadata, MetadataOnly
from gang_scheduler.wire.pods import (
    DisruptionMode,
    NativePodGroup,
    NativePodGroupSpec,
    SchedulingConstraints,
)

# The topology constraint of a PodGroup of scheduling.k8s.io.

NATIVE_FIELD: Final = "spec.schedulingConstraints"
NO_LAYER: Final = LayerRef("", by_label=True)
"""The placeholder of an unreadable layer."""


def native_constraint(constraints: SchedulingConstraints) -> TopologyRequest | None:
    """Return the request of a native PodGroup's constraint: members must gather in all its layers.

    Raises InvalidField for all keys that no node label can have.
    """
    keys = [each.key for each in constraints.topology]
    paths = [f"{NATIVE_FIELD}.topology[{i}].key" for i in range(len(keys))]
    faults = Faults()
    must = {
        faults.read(partial(label_layer, path, key), NO_LAYER): None
        for path, key in zip(paths, keys, strict=True)
    }
    faults.check()
    return TopologyRequest(must=tuple(must), where=paths[0]) if must else None


def unknown_constraints(constraints: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields of a native constraint that are set and unknown here."""
    yield from (f"{NATIVE_FIELD}.{name}" for name in _others(constraints, "topology"))
    for i, each in enumerate(constraints.get("topology") or []):
        yield from (f"{NATIVE_FIELD}.topology[{i}].{name}" for name in _others(each, "key"))


def _others(present: Mapping[str, Any], known: str) -> Iterator[str]:
    return (name for name, value in present.items() if value and name != known)


# Gang specs of PodGroups of scheduling.k8s.io.

MIN_COUNT = "spec.schedulingPolicy.gang.minCount"
PREEMPTS = {"": None, "PreemptLowerPriority": True, "Never": False}
NATIVE_UNREAD = NativePodGroup(metadata=Metadata())


def native_pod_group(body: Mapping[str, Any]) -> GangSpec:
    """Return the gang spec of a PodGroup of scheduling.k8s.io, in any served version."""
    seen = without_spec(body, refs.NATIVE.name)
    faults = Faults()
    try:
        metadata = fields.read(body, MetadataOnly).metadata
        spec = faults.read(lambda: fields.read(body, NativePodGroup), NATIVE_UNREAD).spec
        present = metadata.annotations
        for wrong in (
            *known_keys.misplaced_podset(present),
            *known_keys.options_not_read(present),
        ):
            faults.add(wrong)
        min_count = faults.read(lambda: _min_count(spec), 1)
        roles = faults.read(lambda: elastic_annotation.read_roles(metadata.annotations), NO_ROLES)
        if roles and spec is not NATIVE_UNREAD.spec:
            faults.read(lambda: _quorum(spec, roles), 0)
        min_runtime = faults.read(lambda: gang_annotations.min_runtime(metadata.annotations), 0)
        force = faults.read(lambda: gang_annotations.force_delete(metadata.annotations), None)
        lasts = faults.read(
            lambda: fields.expected_duration(metadata.labels, metadata.annotations), None
        )
        elastic = faults.read(lambda: elastic_annotation.elastic_of(metadata.annotations), None)
        checkpoint = faults.read(lambda: checkpoints.policy_of(metadata.annotations), None)
        preempts = faults.read(lambda: _preempts(spec), None)
        constraints = spec.scheduling_constraints
        topology_request = faults.read(lambda: native_constraint(constraints), None)
        unsupported = tuple(_not_yet(body, spec))
        for where in unsupported if faults else ():
            faults.add(InvalidField(where, None, "is not supported"))
        faults.check()
    except InvalidField as error:
        return replace(seen, problem=invalid_spec(error))
    said = replace(
        seen,
        min_member=min_count,
        roles=roles,
        each_alone=spec.scheduling_policy.gang is None,
        elastic=elastic,
        priority=spec.priority,
        preempts=preempts,
        options=replace(DEFAULTS, min_runtime_seconds=min_runtime, force_delete_seconds=force),
        topology_request=topology_request,
        disrupted_whole=_disrupts_all(spec.disruption_mode),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
        run_time=None if lasts is None else RunTime(expected=lasts),
        checkpoint=checkpoint,
        claims=_claims(spec),
        saved=checkpoints.of_annotations(metadata.annotations, checkpoint),
        problem=_unsupported(unsupported)
        or unsupported_inputs(unsupported_mode(metadata.annotations)),
        was_scheduled=is_true(seen.status, "PodGroupInitiallyScheduled"),
        scheduled_at=condition_since(seen.status, "PodGroupInitiallyScheduled"),
    )
    return said if said.each_alone else checked_together(said, MIN_COUNT)


def _min_count(spec: NativePodGroupSpec) -> int:
    gang = spec.scheduling_policy.gang
    if gang is not None and gang.min_count < 1:
        raise InvalidField(MIN_COUNT, gang.min_count, "must be at least 1")
    return 1 if gang is None else gang.min_count


def _preempts(spec: NativePodGroupSpec) -> bool | None:
    """Return whether the members may evict other pods; None if the PodGroup does not say."""
    policy = spec.preemption_policy
    if policy not in PREEMPTS:
        known = " or ".join(filter(None, PREEMPTS))
        raise InvalidField("spec.preemptionPolicy", policy, f"must be {known}")
    return PREEMPTS[policy]


def _disrupts_all(mode: DisruptionMode | str) -> bool:
    return mode == "PodGroup" if isinstance(mode, str) else mode.all is not None


def _not_yet(body: Mapping[str, Any], spec: NativePodGroupSpec) -> Iterator[str]:
    """Yield the unsupported fields of a native PodGroup that must not be ignored."""
    if spec is NATIVE_UNREAD.spec:
        return
    constraints = (body.get("spec") or {}).get("schedulingConstraints") or {}
    yield from unknown_constraints(constraints)
    if spec.parent_composite_pod_group_name:
        yield "spec.parentCompositePodGroupName"


def _claims(spec: NativePodGroupSpec) -> tuple[PodClaim, ...]:
    """Return the claims that all members of the group share, as members must name them."""
    return tuple(
        PodClaim(each.name, each.resource_claim_name, each.resource_claim_template_name)
        for each in spec.resource_claims
    )


def _quorum(spec: NativePodGroupSpec, roles: tuple[Role, ...]) -> int:
    gang = spec.scheduling_policy.gang
    if gang is None:
        where = "spec.schedulingPolicy.gang"
        raise InvalidField(where, None, f"is required with {elastic_annotation.WHERE_ROLES}")
    return elastic_annotation.quorum_of_roles(roles, gang.min_count, MIN_COUNT)


def _unsupported(found: tuple[str, ...]) -> Problem | None:
    return Problem(Reason.UNSUPPORTED_FEATURE, FieldsUnsupported(found)) if found else None


# Gang specs of PodGroups of scheduling.sigs.k8s.io and scheduling.x-k8s.io.

_READ_APART = frozenset({"metadata", "status"})
UNREAD = PodGroup(spec=PodGroupSpec(min_member=1))
"""The placeholder of an unreadable PodGroup until all of its faults are found."""


def pod_group(body: Mapping[str, Any]) -> GangSpec:
    """Return the gang spec of a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io."""
    seen = without_spec(body, refs.POD_GROUP.name)
    faults = Faults()
    try:
        metadata = fields.read(body, MetadataOnly).metadata
        present = metadata.annotations
        parsed = faults.read(lambda: parse_spec(PodGroup, _said(body)), UNREAD)
        for wrong in (
            *known_keys.too_long(metadata.labels, present),
            *known_keys.unknown_labels(metadata.labels),
            *known_keys.unknown_annotations(present, metadata.labels),
            *known_keys.misplaced_podset(present),
        ):
            faults.add(wrong)
        if misplaced := naming.misplaced(metadata.labels, present):
            faults.add(misplaced)
        options = faults.read(lambda: gang_annotations.read(present), DEFAULTS)
        roles = faults.read(lambda: elastic_annotation.read_roles(present), NO_ROLES)
        if roles and parsed is not UNREAD:
            minimum = parsed.spec.min_member
            faults.read(
                lambda: elastic_annotation.quorum_of_roles(roles, minimum, "spec.minMember"), 0
            )
        topology_request = faults.read(lambda: topology.network_topology_spec(present), None)
        lasts = faults.read(lambda: fields.expected_duration(metadata.labels, present), None)
        elastic = faults.read(lambda: elastic_annotation.elastic_of(present), None)
        checkpoint = faults.read(lambda: checkpoints.policy_of(present), None)
        not_read = (
            *known_keys.not_read(metadata.labels, present),
            *unsupported_mode(present),
        )
        for each in not_read if faults else ():
            faults.add(each)
        faults.check()
        resources = amounts({**(parsed.spec.min_resources or {})}, "spec.minResources")
    except InvalidField as error:
        return replace(seen, problem=invalid_spec(error))
    if parsed.spec.schedule_timeout_seconds:
        options = replace(options, timeout_seconds=parsed.spec.schedule_timeout_seconds)
    return checked_together(
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
            saved=checkpoints.of_annotations(present, checkpoint),
            made_for=_controller_of(metadata),
            problem=unsupported_inputs(not_read),
            was_scheduled=is_true(seen.status, "Scheduled"),
            scheduled_at=condition_since(seen.status, "Scheduled"),
            quorum_since=start_time(seen.status),
            scaled=scale_of(seen.status),
            backfilled=backfill_of(seen.status),
            reserved_since=condition_since(seen.status, RESERVED),
            rests_since=condition_since(seen.status, RESERVED, reason=RESTING),
        ),
        "spec.minMember",
    )


def _said(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the object without metadata and status, which are read separately."""
    return {name: value for name, value in body.items() if name not in _READ_APART}


def _controller_of(metadata: Metadata) -> GangKey | None:
    found = metadata.controller
    return GangKey(found.kind, metadata.namespace, found.name) if found.kind else None


# PodGroups as objects that describe gangs (`GangObject`). Other such kinds are read in `workloads`.

Body = Mapping[str, Any]


def pod_group_object(body: Body) -> GangObject:
    """Return a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io."""
    return _described(body, pod_group(body))


def native_pod_group_object(body: Body) -> GangObject:
    """Return a PodGroup of scheduling.k8s.io, in any served version."""
    return _described(body, native_pod_group(body))


def _described(body: Body, *specs: GangSpec) -> GangObject:
    return GangObject(body["metadata"]["uid"], specs)
