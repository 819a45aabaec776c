"""Gang specs of PodGroups of scheduling.k8s.io, valid or not."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from gang_scheduler.api.parsing import Faults, InvalidField
from gang_scheduler.decode import durations, fields, keys
from gang_scheduler.decode.checkpoints import policies, reports
from gang_scheduler.decode.gangs import elastic as elastic_annotation
from gang_scheduler.decode.gangs import (
    gang_annotations,
    native_constraints,
)
from gang_scheduler.decode.gangs import roles as role_annotations
from gang_scheduler.decode.gangs.gang_specs import (
    DEFAULTS,
    NO_ROLES,
    GangSpec,
    checked_together,
    invalid_spec,
    unsupported_inputs,
    unsupported_mode,
    without_spec,
)
from gang_scheduler.decode.gangs.remembered import condition_since, is_true
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import FieldsUnsupported
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.wire.metadata import Metadata, MetadataOnly
from gang_scheduler.wire.pod_groups import DisruptionMode, NativePodGroup, NativePodGroupSpec

MIN_COUNT = "spec.schedulingPolicy.gang.minCount"
NATIVE_UNREAD = NativePodGroup(metadata=Metadata())


def native_pod_group(body: Mapping[str, Any]) -> GangSpec:
    """Return the gang spec of a PodGroup of scheduling.k8s.io, in any served version."""
    seen = without_spec(body, gang_sources.NATIVE.name)
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
        return replace(seen, problem=invalid_spec(error))
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
        problem=_unsupported(unsupported)
        or unsupported_inputs(unsupported_mode(metadata.annotations)),
        was_scheduled=is_true(seen.status, "PodGroupInitiallyScheduled"),
        scheduled_at=condition_since(seen.status, "PodGroupInitiallyScheduled"),
    )
    return said if said.apart else checked_together(said, MIN_COUNT)


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


def _unsupported(found: tuple[str, ...]) -> Problem | None:
    return Problem(Reason.UNSUPPORTED_FEATURE, FieldsUnsupported(found)) if found else None
