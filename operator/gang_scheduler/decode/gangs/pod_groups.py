"""Gang specs of PodGroups of scheduling.sigs.k8s.io and scheduling.x-k8s.io, valid or not."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gang_scheduler.api.parsing import Faults, InvalidField, parse_spec
from gang_scheduler.api.pod_group import PodGroup, PodGroupSpec
from gang_scheduler.decode import durations, fields, keys
from gang_scheduler.decode.checkpoints import policies, reports
from gang_scheduler.decode.fields import amounts
from gang_scheduler.decode.gangs import elastic as elastic_annotation
from gang_scheduler.decode.gangs import gang_annotations
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
from gang_scheduler.decode.gangs.remembered import (
    RESERVED,
    RESTING,
    backfill_of,
    condition_since,
    is_true,
    scale_of,
    start_time,
)
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import gang_sources
from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.metadata import Metadata, MetadataOnly

_READ_APART = frozenset({"metadata", "status"})
UNREAD = PodGroup(spec=PodGroupSpec(min_member=1))
"""Stands for a PodGroup that cannot be read until all of its faults are found."""


def pod_group(body: Mapping[str, Any]) -> GangSpec:
    """Return the gang spec of a PodGroup of scheduling.sigs.k8s.io or scheduling.x-k8s.io."""
    seen = without_spec(body, gang_sources.POD_GROUP.name)
    faults = Faults()
    try:
        metadata = fields.read(body, MetadataOnly).metadata
        present = metadata.annotations
        parsed = faults.read(lambda: parse_spec(PodGroup, _said(body)), UNREAD)
        for wrong in (
            *keys.too_long(metadata.labels, present),
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
        not_read = (*keys.not_read(metadata.labels, present), *unsupported_mode(present))
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
            saved=reports.of_annotations(present, checkpoint),
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
    """Return the object without metadata and status, which are read by themselves."""
    return {name: value for name, value in body.items() if name not in _READ_APART}


def _controller_of(metadata: Metadata) -> GangKey | None:
    found = metadata.controller
    return GangKey(found.kind, metadata.namespace, found.name) if found.kind else None
