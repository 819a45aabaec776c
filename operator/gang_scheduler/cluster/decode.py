"""From the wire to the model: the only place that knows both."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField, shortened, without_nulls
from gang_scheduler.cluster import asks, podsets, ranks
from gang_scheduler.cluster.pod_requests import amounts
from gang_scheduler.cluster.volumes import pod_volumes
from gang_scheduler.cluster.wire import nodes as node_wire
from gang_scheduler.cluster.wire import pods as pod_wire
from gang_scheduler.cluster.wire.metadata import NO_OWNER, Metadata, OwnerReference
from gang_scheduler.model.nodes import Node, Taint
from gang_scheduler.model.pods import Pod

T = TypeVar("T")

KNOWN_ANNOTATIONS = (
    "gang.scheduling.koordinator.sh/",
    "py-gang-scheduler.io/",
    "kueue.x-k8s.io/",
    "batch.kubernetes.io/",
)
MARK = "PreemptionByScheduler"
OUR_MARK = "py-gang-scheduler: preempting to accommodate higher priority pods"
"""The reason in the condition DisruptionTarget of a pod that makes room for others."""
NEVER_WITHOUT = frozenset({"DaemonSet", "Node"})
"""Owners that keep a pod on its node: evicted, it would come back at once."""

_PATH_STEP = re.compile(r"\.(?P<key>[^.\[]+)|\[(?P<index>\d+)\]|(?P<any>\[\.\.\.\])")
_EXPECTED = re.compile(r"Expected `(?P<kinds>[^`]+)`(?: (?P<bound>[<>]=) (?P<limit>-?[0-9]+))?")
_BOUNDS = {"<=": "at most", ">=": "at least"}
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "absent",
}


def pod(body: Mapping[str, Any]) -> Pod:
    """Return the pod. Raises InvalidField that names the field and the value."""
    return pod_from_wire(read(body, pod_wire.Pod))


def pod_from_wire(source: pod_wire.Pod) -> Pod:
    """Return the pod of a decoded struct. Raises InvalidField for nonsense quantities."""
    metadata, spec = source.metadata, source.spec
    job = _job(metadata)
    return Pod(
        uid=metadata.uid,
        namespace=metadata.namespace,
        name=metadata.name,
        ask=asks.ask_of(source),
        scheduler=spec.scheduler_name,
        node=spec.node_name,
        priority=spec.priority or 0,
        created_at=timestamp(metadata.creation_timestamp),
        phase=source.status.phase,
        deleting=bool(metadata.deletion_timestamp),
        gated=bool(spec.scheduling_gates),
        owner=_owners(metadata),
        job=job.name,
        job_uid=job.uid,
        scheduling_group=spec.scheduling_group.pod_group_name,
        rank=ranks.rank_of(metadata),
        podset=podsets.of(metadata),
        volumes=pod_volumes.of(source),
        labels=metadata.labels,
        annotations=_known(metadata.annotations),
        pinned=_pinned(metadata),
        unscheduled=_unscheduled(source.status),
        scheduled_at=_scheduled_at(source.status),
        nominated="" if spec.node_name else source.status.nominated_node_name,
        preempts=spec.preemption_policy != "Never",
        marked=_is_marked(source.status),
        started_at=timestamp(source.status.start_time, "status.startTime"),
        gone_by=timestamp(metadata.deletion_timestamp, "metadata.deletionTimestamp"),
    )


def node(body: Mapping[str, Any]) -> Node:
    """Return the node. Raises InvalidField that names the field and the value."""
    return node_from_wire(read(body, node_wire.Node))


def node_from_wire(source: node_wire.Node) -> Node:
    """Return the node of a decoded struct. Raises InvalidField for nonsense quantities."""
    offered = amounts(source.status.allocatable or source.status.capacity, "status.allocatable")
    # A node that has not reported its condition yet has nothing allocatable either.
    ready = (each.status == "True" for each in source.status.conditions if each.type == "Ready")
    return Node(
        name=source.metadata.name,
        uid=source.metadata.uid,
        labels=source.metadata.labels,
        taints=tuple(Taint(each.key, each.value, each.effect) for each in source.spec.taints),
        unschedulable=source.spec.unschedulable,
        ready=next(ready, True),
        allocatable=tuple(sorted(offered.items())),
        features=frozenset(source.status.declared_features),
    )


def read(body: Mapping[str, Any], struct: type[T]) -> T:
    """Return `body` as a wire struct. Raises InvalidField naming the field and the value."""
    try:
        return msgspec.convert(body, struct)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # To Kubernetes null is absent. It is rare, so it is only looked for now.
        return _read_without_nulls(without_nulls(body), struct)


def _read_without_nulls(body: Mapping[str, Any], struct: type[T]) -> T:
    try:
        return msgspec.convert(body, struct)
    except UnicodeEncodeError as error:
        raise InvalidField("the object", None, "has half of a character in it") from error
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `$")
        field, value = _locate(body, path.removesuffix("`"))
        raise InvalidField(field or "the object", value, _in_words(text)) from error


def timestamp(text: str, field: str = "metadata.creationTimestamp") -> int:
    """Return an RFC 3339 time in seconds since the epoch; 0 for none. Raises InvalidField."""
    try:
        return int(datetime.fromisoformat(text).timestamp()) if text else 0
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidField(field, text, "must be a time") from error


def _owners(metadata: Metadata) -> str:
    return ",".join(
        sorted(f"{metadata.namespace}/{each.name}" for each in metadata.owner_references)
    )


def _job(metadata: Metadata) -> OwnerReference:
    jobs = (each for each in metadata.owner_references if each.is_job and each.controller)
    return next(jobs, NO_OWNER)


def _unscheduled(status: pod_wire.PodStatus) -> tuple[str, str] | None:
    for each in status.conditions:
        if each.type == "PodScheduled" and each.status == "False":
            return each.reason, each.message
    return None


def _scheduled_at(status: pod_wire.PodStatus) -> int:
    for each in status.conditions:
        if each.type == "PodScheduled" and each.status == "True":
            return timestamp(each.last_transition_time or "")
    return 0


def _is_marked(status: pod_wire.PodStatus) -> bool:
    marks = (each for each in status.conditions if each.type == "DisruptionTarget")
    # kube-scheduler marks its own victims with the same reason, and another message.
    return any(
        (each.status, each.reason) == ("True", MARK)
        and each.message.startswith(OUR_MARK if each.message else "")
        for each in marks
    )


def _pinned(metadata: Metadata) -> bool:
    """Tell whether somebody would only put the pod back: its DaemonSet, or the node itself."""
    mirrored = annotations.MIRROR_POD in metadata.annotations
    return mirrored or any(each.kind in NEVER_WITHOUT for each in metadata.owner_references)


def _known(present: Mapping[str, str]) -> Mapping[str, str]:
    return {key: text for key, text in present.items() if key.startswith(KNOWN_ANNOTATIONS)}


def _locate(body: Any, path: str) -> tuple[str, object]:  # noqa: ANN401 - any JSON value.
    """Follow msgspec's path to the value that it did not accept."""
    field = ""
    for step in _PATH_STEP.finditer(path):
        if step["any"]:
            key = min(body, key=lambda name: _plainness(body[name]))
            field, body = f"{field}[{key}]", body[key]
        elif step["key"]:
            field, body = f"{field}.{step['key']}", body.get(step["key"])
        else:
            field, body = f"{field}{step.group()}", body[int(step["index"])]
    return field.removeprefix("."), body


def _in_words(problem: str) -> str:
    expected = _EXPECTED.match(problem)
    if expected is None:
        return f"is wrong ({shortened(problem)})"
    if expected["bound"]:
        return f"must be {_BOUNDS[expected['bound']]} {expected['limit']}"
    kinds = [each.strip() for each in expected["kinds"].split("|")]
    return "must be " + " or ".join(_KINDS.get(kind, kind) for kind in kinds)


def _plainness(value: object) -> int:
    """Rank values of a map, where msgspec does not say which is wrong: the oddest is."""
    return 2 if isinstance(value, str) else int(isinstance(value, int | float))
