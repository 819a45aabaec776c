"""From the wire to a pod."""

import functools
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.decode import durations
from gang_scheduler.decode.checkpoints import reports
from gang_scheduler.decode.fields import read, timestamp
from gang_scheduler.decode.network import gang_requests
from gang_scheduler.decode.pods import faults, node_requirements, podsets, runs, volumes
from gang_scheduler.decode.pods.membership import Membership, job_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.affinity.requirements import NodeTerm, Operator, Requirement
from gang_scheduler.model.pods import GRACE_SECONDS, Pod, PodClass, PodPhase
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

REFUSALS: Final = frozenset(
    {
        *("UnexpectedAdmissionError", "TopologyAffinityError", "SMTAlignmentError", "AppArmor"),
        *("NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "InvalidNodeInfo"),
        *("UnexpectedPredicateFailureType", "PodOSNotSupported", "PodFeatureUnsupported"),
        *("PodOSSelectorNodeLabelDoesNotMatch", "PodLevelResourcesNotSupported"),
        "SupplementalGroupsPolicyNotSupported",
    }
)
"""The reasons of pods that a kubelet has not taken, beside those of a resource."""
OUT_OF: Final = "OutOf"
"""The beginning of the reason of a pod for which a resource is short there, as OutOfcpu."""


def pod(body: Mapping[str, Any], membership: Membership) -> Pod:
    """Return the pod. Raises InvalidField that names the field and the value."""
    return pod_from_wire(read(body, pod_wire.Pod), membership)


def pod_from_wire(source: pod_wire.Pod, membership: Membership) -> Pod:
    """Return the pod of a decoded struct. Raises InvalidField, for example for a bad quantity."""
    metadata, spec = source.metadata, source.spec
    job = job_of(metadata)
    gang, place = membership.gang_of(source), membership.rank_of(metadata)
    podset = podsets.podset_of(metadata)
    pod_class = node_requirements.pod_class_of(source)
    said = _said_by(source.status)
    gone_by = timestamp(metadata.deletion_timestamp, "metadata.deletionTimestamp")
    return Pod(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        gang=gang,
        pod_class=pod_class,
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
        workload_uid=runs.workload_uid_of(metadata),
        run=runs.run_of(metadata),
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
        pinned=_pinned(source, pod_class),
        unscheduled=_why(said.unscheduled),
        unscheduled_at=_since(said.unscheduled),
        scheduled_at=_since(said.scheduled),
        nominated="" if spec.node_name else source.status.nominated_node_name,
        preempts=spec.preemption_policy != "Never",
        marked=said.marked,
        starting_anew=said.starting_anew,
        started_at=timestamp(source.status.start_time, "status.startTime"),
        gone_by=gone_by,
        deleted_at=_deleted_at(source, gone_by),
        refused=_refused(source),
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
    controller = metadata.controller
    return controller.name if controller.is_stateful_set else ""


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


def _refused(source: pod_wire.Pod) -> str:
    """Return why the kubelet has not taken a pod; "" for any other pod."""
    if source.status.phase is not PodPhase.FAILED or not source.spec.node_name:
        return ""
    reason = source.status.reason
    return reason if reason in REFUSALS or reason.startswith(OUT_OF) else ""


def _deleted_at(source: pod_wire.Pod, gone_by: int) -> int:
    """Return when the deletion of a pod began; 0 of one that is not being deleted."""
    given = source.metadata.deletion_grace_period_seconds
    grace = _grace_seconds(source.spec) if given is None else max(0, given)
    return max(0, gone_by - grace)


def _pinned(source: pod_wire.Pod, pod_class: PodClass) -> bool:
    """Return whether the pod is recreated on its node: by its DaemonSet, or by the kubelet.

    A user with the right to create pods can write any owner into one. So only what controls a pod
    counts, and only for a pod that is bound to its node as such pods are: else any pod could be
    immune. Of one that is written so in full, the controller of DaemonSets deletes what it did not
    ask for, and the garbage collector what has no owner of that uid.
    """
    metadata, node = source.metadata, source.spec.node_name
    if metadata.controller.is_daemon_set:
        return pod_class.affinity == _of_daemon_set(node)
    mirrored = annotations.MIRROR_POD in metadata.annotations
    return mirrored and metadata.controller.is_node(node)


@functools.lru_cache(maxsize=8192)
def _of_daemon_set(node: str) -> tuple[NodeTerm, ...]:
    """Return the node affinity that a DaemonSet's controller writes into a pod for a node."""
    return ((Requirement("metadata.name", Operator.IN, (node,), on_field=True),),)


def _known(present: Mapping[str, str], more: tuple[str, ...]) -> Mapping[str, str]:
    known = KNOWN_ANNOTATIONS + more
    return {key: text for key, text in present.items() if key.startswith(known)}
