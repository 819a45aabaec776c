"""What the controllers of LeaderWorkerSets create, and what their webhook adds to its pods.

A leader is a pod of one StatefulSet, and owns a StatefulSet with the workers of its group.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.workloads.leader_worker_sets import (
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_READY,
    NAME,
    PREFIX,
    SIZE,
    WORKER_INDEX,
)
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.decode.workloads.members.exclusive import exclusive, in_domain
from gang_scheduler.decode.workloads.members.present import part
from gang_scheduler.decode.workloads.members.source import Source, is_deleting, is_ready
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.structs import Count, Wire

REVISION: Final = f"{PREFIX}template-revision-hash"
LEADER_NAME: Final = f"{PREFIX}leader-name"
EXCLUSIVE, SUBGROUP_EXCLUSIVE = (
    f"{PREFIX}exclusive-topology",
    f"{PREFIX}subgroup-exclusive-topology",
)
SUBGROUP_INDEX, SUBGROUP_KEY = f"{PREFIX}subgroup-index", f"{PREFIX}subgroup-key"
SUBGROUP_SIZE, SUBGROUP_POLICY = f"{PREFIX}subgroup-size", f"{PREFIX}subgroup-policy-type"
WITHOUT_LEADER: Final = "LeaderExcluded"

Body = Mapping[str, Any]


class _SubGroups(Wire, frozen=True):
    sub_group_size: Count = 1
    type: str = "LeaderWorker"


class _Template(Wire, frozen=True):
    size: Count = 1
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate | None = None
    sub_group_policy: _SubGroups | None = None


class _Spec(Wire, frozen=True):
    replicas: Count = 1
    startup_policy: str = ""
    leader_worker_template: _Template = field(default_factory=_Template)


class _Set(Wire, frozen=True):
    metadata: Metadata = Metadata()
    spec: _Spec = _Spec()


def leader_worker_set(source: Source) -> Iterator[Body]:
    """Yield the StatefulSet of the leaders, and one a group of the workers. Raises InvalidField."""
    read = source.read(_Set)
    _check(read.spec)
    yield _leaders(source, read)
    if read.spec.leader_worker_template.size == 1:
        return
    for group in range(read.spec.replicas):
        if _starts_workers(source, read, f"{source.name}-{group}"):
            yield _workers(source, read, group)


def admitted(pod: Body) -> Body:
    """Return a pod as the webhook of LeaderWorkerSet admits it; others as they are."""
    labels = part(pod, "metadata", "labels")
    if NAME not in labels:
        return pod
    ordinal = int(pod["metadata"]["name"].rpartition("-")[2])
    if labels.get(WORKER_INDEX) == "0":
        return _admitted_leader(pod, ordinal)
    return _admitted_worker(pod, ordinal)


def _admitted_leader(pod: Body, group: int) -> Body:
    name, annotations = pod["metadata"]["name"], pod["metadata"]["annotations"]
    key = _sha1(f"{pod['metadata']['namespace']}/{name}")
    pod = _labelled(pod, {GROUP_INDEX: str(group), GROUP_KEY: key})
    pod = exclusive(pod, annotations.get(EXCLUSIVE, ""), GROUP_KEY, key)
    if SUBGROUP_SIZE not in annotations or annotations.get(SUBGROUP_POLICY) == WITHOUT_LEADER:
        return pod
    return _in_subgroup(pod, name, "0")


def _admitted_worker(pod: Body, ordinal: int) -> Body:
    annotations = pod["metadata"]["annotations"]
    pod = _labelled(pod, {WORKER_INDEX: str(ordinal)})
    size, members = _number(annotations, SUBGROUP_SIZE), _number(annotations, SIZE)
    if not size or LEADER_NAME not in annotations:
        return pod
    # A leader that is one too many is in the first subgroup.
    index = (ordinal - 1 if (members - 1) % size == 0 else ordinal) // size
    return _in_subgroup(pod, annotations[LEADER_NAME], str(index))


def _in_subgroup(pod: Body, leader: str, index: str) -> Body:
    key = _sha1(f"{leader}/{index}")
    pod = _labelled(pod, {SUBGROUP_INDEX: index, SUBGROUP_KEY: key})
    layer = pod["metadata"]["annotations"].get(SUBGROUP_EXCLUSIVE, "")
    return exclusive(pod, layer, SUBGROUP_KEY, key)


def _leaders(source: Source, read: _Set) -> Body:
    template = read.spec.leader_worker_template
    given = source.body["spec"]["leaderWorkerTemplate"]
    labels = {WORKER_INDEX: "0", NAME: source.name, REVISION: "00000"}
    annotations = _annotations(read)
    if template.sub_group_policy is not None:
        annotations[SUBGROUP_POLICY] = template.sub_group_policy.type
    raw = given["workerTemplate" if template.leader_template is None else "leaderTemplate"]
    made = bodies.from_template(raw, labels, annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            **bodies.owned(source.body, source.name),
            "labels": {NAME: source.name, REVISION: "00000"},
        },
        "spec": _parallel(made, read.spec.replicas, {NAME: source.name, WORKER_INDEX: "0"}),
    }


def _workers(source: Source, read: _Set, group: int) -> Body:
    leader = f"{source.name}-{group}"
    labels = {
        GROUP_INDEX: str(group),
        NAME: source.name,
        GROUP_KEY: _sha1(f"{source.namespace}/{leader}"),
    }
    revised = {**labels, REVISION: "00000"}
    uid = f"{source.body['metadata']['uid']}/{source.name}/{leader}"
    owner = source.pod_as_owner(leader, uid)
    template = read.spec.leader_worker_template
    raw = source.body["spec"]["leaderWorkerTemplate"]["workerTemplate"]
    made = bodies.from_template(raw, revised, {**_annotations(read), LEADER_NAME: leader})
    layer = read.metadata.annotations.get(EXCLUSIVE, "")
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**bodies.owned(owner, leader), "labels": revised},
        "spec": {
            **_parallel(_beside_leader(source, made, leader, layer), template.size - 1, labels),
            "ordinals": {"start": 1},
        },
    }


def _beside_leader(source: Source, made: Body, leader: str, layer: str) -> Body:
    """Return a worker that is held to the domain of its leader, if it asks for one of its own.

    The controller selects the nodes by the label of the leader's node. As long as it has none, the
    leader's own affinity says the same.
    """
    if not layer:
        return made
    node = part(source.pod(leader) or {}, "spec").get("nodeName")
    found = source.present.find("Node", "", "default", str(node)) if node else None
    domain = part(found or {}, "metadata", "labels").get(layer)
    if domain is None:
        key = _sha1(f"{source.namespace}/{leader}")
        return exclusive(made, layer, GROUP_KEY, key)
    return in_domain(made, layer, domain)


def _starts_workers(source: Source, read: _Set, leader: str) -> bool:
    """Return whether the controller creates the workers of a group now."""
    present = source.pod(leader)
    if present is not None and is_deleting(present):
        return False
    if not source.from_cluster:
        return True
    in_own_domain = EXCLUSIVE in read.metadata.annotations
    ready = read.spec.startup_policy != LEADER_READY or is_ready(present or {})
    return ready and (not in_own_domain or bool(part(present or {}, "spec").get("nodeName")))


def _annotations(read: _Set) -> dict[str, str]:
    template, own = read.spec.leader_worker_template, read.metadata.annotations
    annotations = {SIZE: str(template.size)}
    if own.get(EXCLUSIVE):
        annotations[EXCLUSIVE] = own[EXCLUSIVE]
    if template.sub_group_policy is not None:
        annotations[SUBGROUP_SIZE] = str(template.sub_group_policy.sub_group_size)
        if own.get(SUBGROUP_EXCLUSIVE):
            annotations[SUBGROUP_EXCLUSIVE] = own[SUBGROUP_EXCLUSIVE]
    return annotations


def _parallel(made: Body, replicas: int, selector: Mapping[str, str]) -> dict[str, Any]:
    return {
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": selector},
        "template": {"metadata": made["metadata"], "spec": made["spec"]},
    }


def _labelled(pod: Body, labels: Mapping[str, str]) -> Body:
    metadata = pod["metadata"]
    return {**pod, "metadata": {**metadata, "labels": {**metadata["labels"], **labels}}}


def _check(spec: _Spec) -> None:
    where = "spec.leaderWorkerTemplate"
    template = spec.leader_worker_template
    if template.worker_template is None:
        raise InvalidField(f"{where}.workerTemplate", None, "is required")
    bodies.check_template(template.worker_template, f"{where}.workerTemplate")
    if template.leader_template is not None:
        bodies.check_template(template.leader_template, f"{where}.leaderTemplate")
    if template.size < 1:
        raise InvalidField(f"{where}.size", template.size, "must be at least 1")
    bodies.check_number(spec.replicas * template.size, "spec.replicas")
    if template.sub_group_policy is not None:
        _check_subgroups(template.size, template.sub_group_policy, f"{where}.subGroupPolicy")


def _check_subgroups(size: int, policy: _SubGroups, where: str) -> None:
    field, number = f"{where}.subGroupSize", policy.sub_group_size
    if not 1 <= number <= size:
        raise InvalidField(field, number, f"must be at least 1 and at most the size, {size}")
    if (size - 1) % number and (size % number or policy.type == WITHOUT_LEADER):
        raise InvalidField(field, number, f"must divide the size, {size}, or the size less 1")


def _number(annotations: Mapping[str, str], key: str) -> int:
    text = annotations.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
