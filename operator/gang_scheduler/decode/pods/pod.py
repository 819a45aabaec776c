"""The pod of the model, from the wire."""

import functools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import checkpoints, fields, foreign_marks, known_keys, topology
from gang_scheduler.decode.fields import amounts, read, timestamp
from gang_scheduler.decode.gang_annotations import gang_annotations_of
from gang_scheduler.decode.pods import membership as pod_membership
from gang_scheduler.decode.pods import pod_class as pod_pod_class
from gang_scheduler.decode.pods.membership import Membership, Rank, index_of, job_of
from gang_scheduler.decode.queues import naming
from gang_scheduler.model import records, refs
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.device_needs import PodClaim
from gang_scheduler.model.extended_resources import ContainerRequest, may_stand_for_devices
from gang_scheduler.model.pods import GRACE_SECONDS, Pod, PodClass, PodPhase
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.selectors import NodeTerm, Requirement
from gang_scheduler.model.topology_request import PodSet
from gang_scheduler.model.volumes import Disk, PodVolume
from gang_scheduler.model.wording import field, label_field
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Condition, Metadata, ResourceRequirements
from gang_scheduler.wire.pods import Volume

# Faults in the gang labels and annotations of a pod. The gang waits until they are corrected: pods
# that request a gang in an unknown way must not start as single pods.

_PAIRS: Final = (annotations.GANG_MIN_AVAILABLE_LABEL, annotations.GANG_MIN_AVAILABLE)
_TELLING: Final = (
    *(
        *known_keys.PREFIXES,
        known_keys.POD_GROUP_PREFIX,
        *_PAIRS,
        *known_keys.FOREIGN,
    ),
    *foreign_marks.TELLING,
)
_FINE_LABELS: Final = known_keys.LABELS | {annotations.GANG_NAME_LABEL}
_FINE: Final = known_keys.ANNOTATIONS - {
    *(annotations.GANG_MIN_AVAILABLE, annotations.ROLES, annotations.FORCE_DELETE_STUCK_PODS)
}
_OF_GANGS: Final = frozenset({annotations.ELASTIC, annotations.MIN_RUNTIME})
_NO: Final = frozenset({"false"})
_YES_OR_NO: Final = frozenset({"true", "false"})
_INSTEAD: Final = (
    "write a PodGroup of scheduling.sigs.k8s.io, and its name in the label "
    f"{annotations.POD_GROUP_LABEL}"
)


class _Fault(NamedTuple):
    text: str
    reason: Reason = Reason.INVALID_SPEC


def problem_of(
    metadata: Metadata, gang: GangKey, rank: Rank, podset: PodSet | None, *, bound: bool = False
) -> Problem | None:
    """Return the problem of a pod's gang labels and annotations, with all faults.

    On a `bound` pod, annotations that only a binding may write are fine.
    """
    is_alone = gang.source == refs.SINGLE.name
    is_unreadable = bool(podset and podset.problem) or not (
        rank or annotations.NETWORK_TOPOLOGY_INDEX not in metadata.annotations
    )
    queue = None if bound else naming.misplaced(metadata.labels, metadata.annotations)
    says_more = fields.says_duration(metadata.labels, metadata.annotations)
    says_more |= checkpoints.says_policy(metadata.annotations)
    is_cut = next(known_keys.too_long(metadata.labels, metadata.annotations), None) is not None
    of_gangs = is_alone and not _OF_GANGS.isdisjoint(metadata.annotations)
    said = is_unreadable or queue or says_more or of_gangs or is_cut
    if not (said or _tells(metadata, is_alone=is_alone)):
        return None
    found = [*_misspelt(metadata), *_unreadable(metadata, podset)]
    marks = foreign_marks.refused(metadata.labels, metadata.annotations, gang.source)
    found += (_Fault(str(each), Reason.UNSUPPORTED_FEATURE) for each in marks)
    if annotations.ROLES in metadata.annotations and gang.source != refs.ANNOTATION.name:
        found.append(_Fault(f"{field(annotations.ROLES)} belongs on the PodGroup of the pod"))
    if queue is not None:
        found.append(_Fault(str(queue)))
    if is_alone:
        found += _in_vain(metadata)
    return _problem(metadata, found) if found else None


def _tells(metadata: Metadata, *, is_alone: bool) -> bool:
    """Return whether keys must be checked one by one: cheap, and False for most pods."""
    heard = _NO if is_alone else _YES_OR_NO
    if metadata.labels.get(annotations.JOB_GANG_LABEL, "false") not in heard:
        return True
    return _keys_tell(tuple(metadata.labels), tuple(metadata.annotations), is_alone=is_alone)


@records.by_short_texts(4096)
def _keys_tell(labels: tuple[str, ...], present: tuple[str, ...], *, is_alone: bool) -> bool:
    """Return whether the keys alone call for a check one by one.

    The result is remembered, as most pods have the same keys.
    """
    if known_keys.has_odd_labels(labels) or known_keys.has_odd_annotations(present):
        return True
    if is_alone and _asks_in_vain(labels, present):
        return True
    telling = (each for each in labels if each.startswith(_TELLING))
    told = (each for each in present if each.startswith(_TELLING))
    return not (_FINE_LABELS.issuperset(telling) and _FINE.issuperset(told))


def _asks_in_vain(labels: Collection[str], present: Collection[str]) -> bool:
    """Return whether a pod without a gang has keys that only make sense for members."""
    if annotations.ROLE in labels or _is_half_a_group(labels, present):
        return True
    return not known_keys.OPTIONS.isdisjoint(present)


def _problem(metadata: Metadata, found: list[_Fault]) -> Problem:
    # Wrong values come before unsupported ones.
    is_wrong = any(each.reason is Reason.INVALID_SPEC for each in found)
    reason = Reason.INVALID_SPEC if is_wrong else Reason.UNSUPPORTED_FEATURE
    text = "; ".join(each.text for each in found)
    return Problem(reason, InvalidInput(f"pod {metadata.namespace}/{metadata.name}: {text}"))


def _misspelt(metadata: Metadata) -> Iterator[_Fault]:
    """Yield keys that are unknown or without effect, and values that are too long or not a bool."""
    for long in known_keys.too_long(metadata.labels, metadata.annotations):
        yield _Fault(str(long))
    for unknown in known_keys.unknown_labels(metadata.labels):
        yield _Fault(str(unknown))
    for unknown in known_keys.unknown_annotations(metadata.annotations, metadata.labels):
        yield _Fault(str(unknown))
    for unread in known_keys.not_read(metadata.labels, metadata.annotations):
        yield _Fault(str(unread), Reason.UNSUPPORTED_FEATURE)
    asked = metadata.labels.get(annotations.JOB_GANG_LABEL, "false")
    if asked not in _YES_OR_NO:
        where = label_field(annotations.JOB_GANG_LABEL)
        yield _Fault(str(InvalidField(where, asked, 'must be "true" or "false"')))


def _unreadable(metadata: Metadata, podset: PodSet | None) -> Iterator[_Fault]:
    """Yield the pod's own annotations with invalid values."""
    try:
        index_of(metadata.annotations)
    except InvalidField as error:
        yield _Fault(str(error))
    if podset is not None and podset.problem:
        yield _Fault(podset.problem)
    for value in (
        lambda: fields.expected_duration(metadata.labels, metadata.annotations),
        lambda: fields.duration(metadata.annotations, annotations.FORCE_DELETE_STUCK_PODS),
        lambda: checkpoints.policy_of(metadata.annotations),
    ):
        try:
            value()
        except InvalidField as error:
            yield _Fault(str(error))


def _in_vain(metadata: Metadata) -> Iterator[_Fault]:
    """Yield requests for a gang that have no effect."""
    if metadata.labels.get(annotations.JOB_GANG_LABEL) == "true":
        where = label_field(annotations.JOB_GANG_LABEL)
        text = f"{where} makes no gang of {_kind(metadata)}"
        yield _Fault(f"{text}: {_INSTEAD}", Reason.UNSUPPORTED_FEATURE)
    if annotations.ELASTIC in metadata.annotations:
        yield _Fault(f"{field(annotations.ELASTIC)} is for a gang, and this pod is in none")
    try:
        fields.duration(metadata.annotations, annotations.MIN_RUNTIME)
    except InvalidField as error:
        yield _Fault(str(error))
    if annotations.GANG_MIN_AVAILABLE in metadata.annotations:
        needed = field(annotations.GANG_NAME)
        yield _Fault(f"{needed} is required with {annotations.GANG_MIN_AVAILABLE}")
    for key in sorted(known_keys.OPTIONS.intersection(metadata.annotations)):
        yield _Fault(f"{field(annotations.GANG_NAME)} is required with {key}")
    if _is_half_a_group(metadata.labels, metadata.annotations):
        needed = label_field(annotations.KUEUE_POD_GROUP)
        yield _Fault(f"{needed} is required with {annotations.KUEUE_POD_GROUP_TOTAL}")
    if annotations.GANG_MIN_AVAILABLE_LABEL in metadata.labels:
        needed = label_field(annotations.GANG_NAME_LABEL)
        yield _Fault(f"{needed} is required with {annotations.GANG_MIN_AVAILABLE_LABEL}")
    if annotations.ROLE in metadata.labels:
        where = label_field(annotations.ROLE)
        yield _Fault(f"{where} is the role of a member of a gang, and this pod is in none")
    for where, product in known_keys.foreign(metadata.labels, metadata.annotations):
        text = f"{where} is for {product}, and makes no gang here: {_INSTEAD}"
        yield _Fault(text, Reason.UNSUPPORTED_FEATURE)


def _is_half_a_group(labels: Collection[str], present: Collection[str]) -> bool:
    """Return whether a pod states the size of a Kueue pod group, but not which group."""
    is_counted = annotations.KUEUE_POD_GROUP_TOTAL in present
    return is_counted and annotations.KUEUE_POD_GROUP not in labels


def _kind(metadata: Metadata) -> str:
    """Return the kind of controller of a pod, as in "no gang of the pods of a ReplicaSet"."""
    kind = metadata.controller.kind
    return f"the pods of a {kind}" if kind else "a pod without a controller"


# Volumes of a pod that may limit its nodes: claims, and disks that the pod names itself.


def volumes_of(pod: pod_wire.Pod) -> tuple[PodVolume, ...]:
    """Return the volumes in the order of the pod; most pods have none."""
    if not pod.spec.volumes:
        return ()
    name = pod.metadata.name
    return tuple([volume for each in pod.spec.volumes for volume in _read(each, name)])


def _read(source: Volume, pod: str) -> Iterable[PodVolume]:
    if source.persistent_volume_claim is not None:
        return (PodVolume(claim=source.persistent_volume_claim.claim_name),)
    if source.ephemeral is not None:
        return (PodVolume(claim=f"{pod}-{source.name}", ephemeral=True),)
    return [PodVolume(disk=disk) for disk in _disks(source)]


def _disks(source: Volume) -> Iterator[Disk]:
    gce, aws, iscsi, rbd = (
        *(source.gce_persistent_disk, source.aws_elastic_block_store),
        *(source.iscsi, source.rbd),
    )
    if gce is not None:
        yield Disk((f"gce {gce.pd_name}",), gce.read_only)
    if aws is not None:
        # Only one pod on a node may use such a volume, even read-only.
        yield Disk((f"aws {aws.volume_id}",))
    if iscsi is not None:
        yield Disk((f"iscsi {iscsi.iqn}",), iscsi.read_only)
    if rbd is not None:
        names = (f"rbd {monitor} {rbd.pool} {rbd.image}" for monitor in sorted(rbd.monitors))
        yield Disk(tuple(names), rbd.read_only)


# Claims of devices that a pod names, and that were created for it.


def claims_of(pod: pod_wire.Pod) -> tuple[PodClaim, ...]:
    """Return the entries of `spec.resourceClaims` in their order; most pods have none."""
    if not pod.spec.resource_claims:
        return ()
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    return tuple([_claim(each, made) for each in pod.spec.resource_claims])


def _claim(entry: pod_wire.PodResourceClaim, made: Mapping[str, str]) -> PodClaim:
    if not entry.resource_claim_template_name:
        return PodClaim(entry.name, entry.resource_claim_name)
    name = made.get(entry.name)
    return PodClaim(entry.name, name or "", entry.resource_claim_template_name, unneeded=name == "")


def extended_of(pod: pod_wire.Pod) -> tuple[ContainerRequest, ...]:
    """Return the requests of containers for resources that may stand for devices."""
    every = (*pod.spec.init_containers, *pod.spec.containers)
    if not any(_has_extended(each.resources) for each in every):
        return ()
    number = len(pod.spec.init_containers)
    found = (
        ContainerRequest(
            *(container.name, index, name, place, amount),
            ends=index < number and container.restart_policy != "Always",
        )
        for index, container in enumerate(every)
        for place, (name, amount) in enumerate(sorted(_requests(container).items()))
        if may_stand_for_devices(name)
    )
    return _shared(tuple(found))


def _has_extended(resources: ResourceRequirements) -> bool:
    return any("/" in name for each in (resources.limits, resources.requests) for name in each)


def _requests(container: pod_wire.Container) -> dict[str, int]:
    # The API server defaults requests to limits on creation.
    resources = container.resources
    return amounts({**resources.limits, **resources.requests}, "spec.containers[].resources")


@functools.lru_cache(maxsize=4096)
def _shared(found: tuple[ContainerRequest, ...]) -> tuple[ContainerRequest, ...]:
    """Return one object for equal requests: most pods are alike."""
    return found


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
"""The reason on members of a gang that is evicted whole, because its domain cannot hold it."""

REFUSALS: Final = frozenset(
    {
        *("UnexpectedAdmissionError", "TopologyAffinityError", "SMTAlignmentError", "AppArmor"),
        *("NodeAffinity", "NodeName", "NodePorts", "TaintToleration", "InvalidNodeInfo"),
        *("UnexpectedPredicateFailureType", "PodOSNotSupported", "PodFeatureUnsupported"),
        *("PodOSSelectorNodeLabelDoesNotMatch", "PodLevelResourcesNotSupported"),
        "SupplementalGroupsPolicyNotSupported",
    }
)
"""The reasons with which a kubelet rejects pods, except reasons about a resource."""
OUT_OF: Final = "OutOf"
"""The beginning of a kubelet's reason when a resource is short, such as OutOfcpu."""


def pod(body: Mapping[str, Any], membership: Membership) -> Pod:
    """Return the pod. Raises InvalidField that names the field and the value."""
    return pod_from_wire(read(body, pod_wire.Pod), membership)


def pod_from_wire(source: pod_wire.Pod, membership: Membership) -> Pod:
    """Return the pod of a decoded struct. Raises InvalidField, for example for a bad quantity."""
    metadata, spec = source.metadata, source.spec
    job = job_of(metadata)
    gang, place = membership.gang_of(source), membership.rank_of(metadata)
    podset = pod_membership.podset_of(metadata)
    pod_class = pod_pod_class.pod_class_of(source)
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
        workload_uid=membership.workload_uid_of(metadata),
        run=membership.run_of(metadata),
        stateful_set=_stateful_set(metadata),
        problem=problem_of(metadata, gang, place, podset, bound=bool(spec.node_name)),
        rank=place,
        role=sys.intern(membership.role_of(metadata)),
        podset=podset,
        gang_request=topology.of_pod(metadata.annotations),
        gang_annotations=gang_annotations_of(
            f"{metadata.namespace}/{metadata.name}", metadata.annotations
        ),
        volumes=volumes_of(source),
        claims=claims_of(source),
        extended=extended_of(source),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
        charged_to=naming.charged_to(metadata.annotations),
        run_time=fields.run_time(
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
        marked_as_victim=said.marked_as_victim,
        starting_anew=said.starting_anew,
        started_at=timestamp(source.status.start_time, "status.startTime"),
        gone_by=gone_by,
        deleted_at=_deleted_at(source, gone_by),
        refused=_refused(source),
        checkpoint=checkpoints.of_pod(
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
    """The facts in the conditions of a pod; the first two come from PodScheduled."""

    unscheduled: Condition | None = None
    scheduled: Condition | None = None
    marked_as_victim: bool = False
    starting_anew: bool = False


_NOTHING: Final = _Said()


def _said_by(status: pod_wire.PodStatus) -> _Said:
    """Return the facts in conditions, in one pass: every listed pod comes through here."""
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
    """Return since when a condition has had its value, in seconds; 0 without one."""
    return 0 if condition is None else timestamp(condition.last_transition_time or "")


def _is_our_mark(condition: Condition) -> bool:
    # kube-scheduler marks its own victims with the same reason, and another message.
    ours = (OUR_MARK, OUR_DRAIN) if condition.message else ""
    return condition.reason == MARK and condition.message.startswith(ours)


def _grace_seconds(spec: pod_wire.PodSpec) -> int:
    asked = spec.termination_grace_period_seconds
    return GRACE_SECONDS if asked is None else max(0, asked)


def _refused(source: pod_wire.Pod) -> str:
    """Return why the kubelet rejected a pod; "" for any other pod."""
    if source.status.phase is not PodPhase.FAILED or not source.spec.node_name:
        return ""
    reason = source.status.reason
    return reason if reason in REFUSALS or reason.startswith(OUT_OF) else ""


def _deleted_at(source: pod_wire.Pod, gone_by: int) -> int:
    """Return when the deletion of a pod began; 0 for a pod that is not being deleted."""
    given = source.metadata.deletion_grace_period_seconds
    grace = _grace_seconds(source.spec) if given is None else max(0, given)
    return max(0, gone_by - grace)


def _pinned(source: pod_wire.Pod, pod_class: PodClass) -> bool:
    """Return whether the pod is recreated on its node: by its DaemonSet, or by the kubelet.

    A user who may create pods can write any owner into one. So only the controlling owner counts,
    and only for a pod that is bound to its node as such pods are; otherwise any pod could be
    immune. Even if a user forges all of these fields, the pod does not last: the controller of
    DaemonSets deletes pods that it did not create, and the garbage collector deletes pods whose
    owner does not exist.
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
