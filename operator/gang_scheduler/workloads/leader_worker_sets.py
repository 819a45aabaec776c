"""LeaderWorkerSets: each group is a gang, with its leader and its workers.

The pods have all facts about the gang, so it is known without the object. The object adds one fact:
whether the workers are created only after the leader is ready.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Final

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs import specs
from gang_scheduler.decode.gangs.specs import GangObject, GangSpec
from gang_scheduler.decode.pods import membership
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.pods.pod_class import pod_requests
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.model import resources
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, GangSource
from gang_scheduler.model.resources import Amounts
from gang_scheduler.model.wording import label_field
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Count, Metadata, Wire, Words
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.workloads import controllers, kind
from gang_scheduler.workloads.controllers import Source, is_deleting, is_ready, part
from gang_scheduler.workloads.exclusive_topology import exclusive, in_domain
from gang_scheduler.workloads.kind import Body, Kind, served

SOURCE: Final = GangSource("LeaderWorkerSet")
PREFIX: Final = "leaderworkerset.sigs.k8s.io/"
GROUP_KEY: Final = f"{PREFIX}group-key"
NAME: Final = f"{PREFIX}name"
GROUP_INDEX: Final = f"{PREFIX}group-index"
WORKER_INDEX: Final = f"{PREFIX}worker-index"
SIZE: Final = f"{PREFIX}size"
INDEXES: Final = (GROUP_INDEX, WORKER_INDEX)
LEADER, WORKER = "leader", "worker"
LEADER_CREATED: Final = "LeaderCreated"
LEADER_READY: Final = "LeaderReady"
"""The startup policy that creates workers once the leader is ready."""


class LeaderWorkerTemplate(Wire, frozen=True):
    """`spec.leaderWorkerTemplate`. Without a leaderTemplate, leaders have the workerTemplate."""

    size: Count = 1
    leader_template: PodTemplate | None = None
    worker_template: PodTemplate = PodTemplate()


class LeaderWorkerSetSpec(Wire, frozen=True):
    """`spec` of a LeaderWorkerSet."""

    replicas: Count = 1
    startup_policy: Annotated[str, Words({LEADER_CREATED, LEADER_READY})] = ""
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()


class LeaderWorkerSet(Wire, frozen=True):
    """A LeaderWorkerSet."""

    metadata: Metadata
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()


MOST_GROUPS: Final = 10_000
"""A LeaderWorkerSet describes a gang for each of its replicas: the API allows two billion."""


def name_of(source: pod_wire.Pod) -> str:
    """Return the name of a group, such as SET/0 for the first group of LeaderWorkerSet SET."""
    labels = source.metadata.labels
    key, name, index = (labels.get(each) for each in (GROUP_KEY, NAME, GROUP_INDEX))
    return _group(name, index) if name and index else key or ""


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: the pod with index 0 is the leader."""
    index = metadata.labels.get(WORKER_INDEX)
    return "" if index is None else LEADER if index == "0" else WORKER


def by_members(key: GangKey, members: Iterable[Pod], described: GangSpec | None) -> GangSpec | None:
    """Return the gang of a group, with as many members as the annotation says.

    If workers are created after the leader, the leader starts once the cluster has room for the
    whole group. Once workers exist, the gang needs them, too.
    """
    members = tuple(members)
    found = specs.by_the_oldest(key, members, _size, SIZE)
    if found is None or found.problem is not None:
        return found
    found = replace(found, roles=_roles(found.min_member), problem=_without_role(members))
    if described is None:
        return found
    found = replace(
        found,
        options=described.options,
        topology_request=described.topology_request,
        queue_request=described.queue_request,
        run_time=described.run_time,
        problem=described.problem or found.problem,
    )
    if not described.min_resources or any(pod.role == WORKER for pod in members):
        return found
    return replace(
        found,
        min_member=1,
        roles=(Role(LEADER, 1, 1), Role(WORKER, 0, found.min_member - 1)),
        min_resources=described.min_resources,
    )


def _without_role(members: Iterable[Pod]) -> Problem | None:
    """Return the problem of members without a role: the webhook was down at their creation."""
    bare = next((each for each in members if not (each.role or each.node)), None)
    if bare is None:
        return None
    label = label_field(WORKER_INDEX)
    text = f"pod {bare.key}: {label} is missing, which the webhook of LeaderWorkerSet writes"
    return Problem(Reason.INVALID_SPEC, InvalidInput(text))


def read(body: Body) -> GangObject:
    """Return a LeaderWorkerSet. Raises InvalidField if the object is malformed."""
    source = fields.read(body, LeaderWorkerSet)
    metadata, spec = source.metadata, source.spec
    request = naming.request_of(metadata.labels, metadata.annotations)
    leader_first = spec.startup_policy == LEADER_READY and spec.leader_worker_template.size > 1
    needed = _needed(spec.leader_worker_template) if leader_first else {}
    plain = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        min_resources=tuple(sorted(needed.items())),
        queue_request=request,
    )
    said = kind.with_annotations(plain, metadata, _templates(spec.leader_worker_template))
    if not (needed or request) and said == plain:
        return GangObject(metadata.uid)
    if spec.replicas > MOST_GROUPS:
        raise InvalidField("spec.replicas", spec.replicas, f"must be at most {MOST_GROUPS} here")
    names = (_group(metadata.name, str(index)) for index in range(spec.replicas))
    groups = (replace(said, key=said.key._replace(name=name)) for name in names)
    return GangObject(metadata.uid, tuple(groups))


def _templates(template: LeaderWorkerTemplate) -> list[Metadata]:
    leader = template.leader_template or template.worker_template
    return [leader.metadata, template.worker_template.metadata]


def _group(name: str, index: str) -> str:
    return f"{name}/{index}"


def _size(pod: Pod, _: tuple[Role, ...]) -> int:
    found = fields.whole_number(pod.annotations, SIZE, None)
    return 1 if found is None else found


def _roles(size: int) -> tuple[Role, ...]:
    leader = Role(LEADER, 1, 1)
    return (leader, Role(WORKER, size - 1, size - 1)) if size > 1 else (leader,)


def _needed(template: LeaderWorkerTemplate) -> Amounts:
    """Return the sum of requests of a whole group."""
    worker = _requests(template.worker_template)
    leader = _requests(template.leader_template or template.worker_template)
    workers = {name: amount * (template.size - 1) for name, amount in worker.items()}
    return resources.add(leader, workers)


def _requests(template: PodTemplate) -> Amounts:
    return pod_requests(pod_wire.Pod(template.metadata, template.spec))


# Objects that the controllers of LeaderWorkerSets create, and the additions of their webhook to
# pods. A leader is a pod of one StatefulSet, and owns a StatefulSet with the workers of its group.

REVISION: Final = f"{PREFIX}template-revision-hash"
LEADER_NAME: Final = f"{PREFIX}leader-name"
EXCLUSIVE, SUBGROUP_EXCLUSIVE = (
    f"{PREFIX}exclusive-topology",
    f"{PREFIX}subgroup-exclusive-topology",
)
SUBGROUP_INDEX, SUBGROUP_KEY = f"{PREFIX}subgroup-index", f"{PREFIX}subgroup-key"
SUBGROUP_SIZE, SUBGROUP_POLICY = f"{PREFIX}subgroup-size", f"{PREFIX}subgroup-policy-type"
WITHOUT_LEADER: Final = "LeaderExcluded"


class _SubGroups(Wire, frozen=True):
    sub_group_size: Count = 1
    type: str = "LeaderWorker"


class _Template(LeaderWorkerTemplate, frozen=True):
    sub_group_policy: _SubGroups | None = None


class _Spec(LeaderWorkerSetSpec, frozen=True):
    leader_worker_template: _Template = _Template()


class _Set(LeaderWorkerSet, frozen=True):
    spec: _Spec = _Spec()


def leader_worker_set(source: Source) -> Iterator[Body]:
    """Yield the StatefulSet of the leaders, and one for the workers of each group.

    Raises InvalidField.
    """
    read = source.read(_Set)
    _check(source, read.spec)
    yield _leaders(source, read)
    if read.spec.leader_worker_template.size == 1:
        return
    for group in range(read.spec.replicas):
        if _starts_workers(source, read, f"{source.name}-{group}"):
            yield _workers(source, read, group)


def admitted(pod: Body) -> Body:
    """Return a pod as LeaderWorkerSet's webhook admits it; other pods unchanged."""
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
    pod = controllers.labelled(pod, {GROUP_INDEX: str(group), GROUP_KEY: key})
    pod = exclusive(pod, annotations.get(EXCLUSIVE, ""), GROUP_KEY, key)
    if SUBGROUP_SIZE not in annotations or annotations.get(SUBGROUP_POLICY) == WITHOUT_LEADER:
        return pod
    return _in_subgroup(pod, name, "0")


def _admitted_worker(pod: Body, ordinal: int) -> Body:
    annotations = pod["metadata"]["annotations"]
    pod = controllers.labelled(pod, {WORKER_INDEX: str(ordinal)})
    size, members = _number(annotations, SUBGROUP_SIZE), _number(annotations, SIZE)
    if not size or LEADER_NAME not in annotations:
        return pod
    # If only the workers divide into whole subgroups, the leader is one more pod of the first. This
    # cannot happen with subgroups of one pod.
    extra = members % size != 0 and (members - 1) % size == 0
    index = (ordinal - extra) // size
    return _in_subgroup(pod, annotations[LEADER_NAME], str(index))


def _in_subgroup(pod: Body, leader: str, index: str) -> Body:
    key = _sha1(f"{leader}/{index}")
    pod = controllers.labelled(pod, {SUBGROUP_INDEX: index, SUBGROUP_KEY: key})
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
    made = controllers.from_template(raw, labels, annotations)
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            **controllers.owned(source.body, source.name),
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
    made = controllers.from_template(raw, revised, {**_annotations(read), LEADER_NAME: leader})
    layer = read.metadata.annotations.get(EXCLUSIVE, "")
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**controllers.owned(owner, leader), "labels": revised},
        "spec": {
            **_parallel(_beside_leader(source, made, leader, layer), template.size - 1, labels),
            "ordinals": {"start": 1},
        },
    }


def _beside_leader(source: Source, made: Body, leader: str, layer: str) -> Body:
    """Return a worker that must stay in the domain of its leader, if a domain is requested.

    The controller selects nodes by the label of the leader's node. While the leader has no node,
    its own affinity has the same effect.
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


def _check(source: Source, spec: _Spec) -> None:
    where = "spec.leaderWorkerTemplate"
    template = spec.leader_worker_template
    if "workerTemplate" not in part(source.body, "spec", "leaderWorkerTemplate"):
        raise InvalidField(f"{where}.workerTemplate", None, "is required")
    controllers.check_template(template.worker_template, f"{where}.workerTemplate")
    if template.leader_template is not None:
        controllers.check_template(template.leader_template, f"{where}.leaderTemplate")
    if template.size < 1:
        raise InvalidField(f"{where}.size", template.size, "must be at least 1")
    controllers.check_number(spec.replicas * template.size, "spec.replicas")
    if template.sub_group_policy is not None:
        _check_subgroups(template.size, template.sub_group_policy, f"{where}.subGroupPolicy")


def _check_subgroups(size: int, policy: _SubGroups, where: str) -> None:
    field, number = f"{where}.subGroupSize", policy.sub_group_size
    if not 1 <= number <= size:
        raise InvalidField(field, number, f"must be at least 1 and at most the size ({size})")
    if (size - 1) % number and (size % number or policy.type == WITHOUT_LEADER):
        raise InvalidField(field, number, f"must divide the size ({size}) or the size less 1")


def _number(annotations: Mapping[str, str], key: str) -> int:
    text = annotations.get(key, "")
    return int(text) if text.isascii() and text.isdigit() else 0


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()


KIND: Final = Kind(
    name=SOURCE.name,
    versions=served("leaderworkersets.leaderworkerset.x-k8s.io", "v1"),
    struct=LeaderWorkerSet,
    read=read,
    if_unreadable=Unreadable.KEEP,
    pods=PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({GROUP_KEY}),
        role_of=role_of,
        rank_of=lambda metadata: membership.numbers(metadata, INDEXES),
        rank_keys=frozenset(INDEXES),
        by_default=True,
        prefixes=(PREFIX,),
        replacing=frozenset({SOURCE.name}),
        recreated=frozenset({NAME}),
    ),
    by_members=by_members,
    creates=leader_worker_set,
    words=(LEADER,),
)
