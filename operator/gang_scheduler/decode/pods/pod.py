"""From the wire to a pod."""

import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.decode import durations
from gang_scheduler.decode.checkpoints import reports
from gang_scheduler.decode.fields import read, timestamp
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.decode.pods import faults, node_requirements, podsets, volumes
from gang_scheduler.decode.pods.membership import Membership, job_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.pods import GRACE_SECONDS, Pod
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.conditions import Condition
from gang_scheduler.wire.metadata import Metadata

KNOWN_ANNOTATIONS = (
    "gang.scheduling.koordinator.sh/",
    "py-gang-scheduler.io/",
    "kueue.x-k8s.io/",
    "batch.kubernetes.io/",
)
MARK = "PreemptionByScheduler"
OUR_MARK = "py-gang-scheduler: preempting to accommodate higher priority pods"
"""Reason, and the beginning of the message, of the condition DisruptionTarget of our victims."""
OUR_DRAIN = "py-gang-scheduler: draining"
"""The beginning of the message on pods that must leave their queue."""
MARK_OF_DEGRADED = "DegradedDomain"
"""The reason on members of a gang that is evicted whole, since its domain cannot hold it."""
NEVER_WITHOUT = frozenset({"DaemonSet", "Node"})
"""Kinds of owners that recreate a pod on its node at once after an eviction."""


def pod(body: Mapping[str, Any], membership: Membership) -> Pod:
    """Return the pod. Raises InvalidField that names the field and the value."""
    return pod_from_wire(read(body, pod_wire.Pod), membership)


def pod_from_wire(source: pod_wire.Pod, membership: Membership) -> Pod:
    """Return the pod of a decoded struct. Raises InvalidField, for example for a bad quantity."""
    metadata, spec = source.metadata, source.spec
    job = job_of(metadata)
    gang, place = membership.gang_of(source), membership.rank_of(metadata)
    podset = podsets.podset_of(metadata)
    said = _said_by(source.status)
    return Pod(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        gang=gang,
        pod_class=node_requirements.pod_class_of(source),
        scheduler=spec.scheduler_name,
        node=spec.node_name,
        priority=spec.priority or 0,
        priority_class=sys.intern(spec.priority_class_name),
        created_at=timestamp(metadata.creation_timestamp),
        phase=source.status.phase,
        deleting=bool(metadata.deletion_timestamp),
        gated=bool(spec.scheduling_gates),
        owner=_owners(metadata),
        job=job.name,
        job_uid=job.uid,
        stateful_set=_stateful_set(metadata),
        problem=faults.problem_of(metadata, gang, place, podset, bound=bool(spec.node_name)),
        rank=place,
        role=sys.intern(membership.role_of(metadata)),
        podset=podset,
        gang_request=gang_requests.of_pod(metadata.annotations),
        volumes=volumes.volumes_of(source),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
        charged_to=naming.charged_to(metadata.annotations),
        run_time=durations.run_time(
            spec.active_deadline_seconds, metadata.labels, metadata.annotations
        ),
        labels=metadata.labels,
        annotations=_known(metadata.annotations, membership.prefixes),
        pinned=_pinned(metadata),
        unscheduled=_why(said.unscheduled),
        unscheduled_at=_since(said.unscheduled),
        scheduled_at=_since(said.scheduled),
        nominated="" if spec.node_name else source.status.nominated_node_name,
        preempts=spec.preemption_policy != "Never",
        marked=said.marked,
        starting_anew=said.starting_anew,
        started_at=timestamp(source.status.start_time, "status.startTime"),
        gone_by=timestamp(metadata.deletion_timestamp, "metadata.deletionTimestamp"),
        checkpoint=reports.of_pod(
            metadata.annotations, source.status.container_statuses, source.status.conditions
        ),
        address="" if spec.host_network else source.status.pod_ip,
        grace_seconds=_grace_seconds(spec),
    )


def _owners(metadata: Metadata) -> str:
    owners = [f"{metadata.namespace}/{each.name}" for each in metadata.owner_references]
    return owners[0] if len(owners) == 1 else ",".join(sorted(owners))


def _stateful_set(metadata: Metadata) -> str:
    for each in metadata.owner_references:
        if each.controller and each.kind == "StatefulSet":
            return each.name
    return ""


class _Said(NamedTuple):
    """What the conditions of a pod say; the conditions are those of PodScheduled."""

    unscheduled: Condition | None = None
    scheduled: Condition | None = None
    marked: bool = False
    starting_anew: bool = False


_NOTHING: Final = _Said()


def _said_by(status: pod_wire.PodStatus) -> _Said:
    """Return what conditions say, in one pass: each pod of a list comes through here."""
    if not status.conditions:
        return _NOTHING
    unscheduled = scheduled = None
    marked = starting_anew = False
    for each in status.conditions:
        if each.type == "PodScheduled":
            if each.status == "True":
                scheduled = scheduled or each
            elif each.status == "False":
                unscheduled = unscheduled or each
        elif each.type == "DisruptionTarget" and each.status == "True":
            starting_anew |= each.reason == MARK_OF_DEGRADED
            marked |= _is_our_mark(each)
    return _Said(unscheduled, scheduled, marked or starting_anew, starting_anew)


def _why(condition: Condition | None) -> tuple[str, str] | None:
    return None if condition is None else (condition.reason, condition.message)


def _since(condition: Condition | None) -> int:
    """Return since when a condition has its value, in seconds; 0 without one."""
    return 0 if condition is None else timestamp(condition.last_transition_time or "")


def _is_our_mark(condition: Condition) -> bool:
    # kube-scheduler marks its own victims with the same reason, and another message.
    ours = (OUR_MARK, OUR_DRAIN) if condition.message else ""
    return condition.reason == MARK and condition.message.startswith(ours)


def _grace_seconds(spec: pod_wire.PodSpec) -> int:
    asked = spec.termination_grace_period_seconds
    return GRACE_SECONDS if asked is None else max(0, asked)


def _pinned(metadata: Metadata) -> bool:
    """Return whether the pod is recreated on its node: by its DaemonSet, or by the kubelet."""
    mirrored = annotations.MIRROR_POD in metadata.annotations
    return mirrored or any(each.kind in NEVER_WITHOUT for each in metadata.owner_references)


def _known(present: Mapping[str, str], more: tuple[str, ...]) -> Mapping[str, str]:
    known = KNOWN_ANNOTATIONS + more
    return {key: text for key, text in present.items() if key.startswith(known)}
