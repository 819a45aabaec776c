"""LeaderWorkerSets. Each group of one is a gang: its leader and its workers.

The pods say all that makes the gang, so it is known without the object, too. That adds what only
it says: that the workers are not created before the leader is ready.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from gang_scheduler.api.kinds import LEADER_WORKER_SETS
from gang_scheduler.decode import fields, keys
from gang_scheduler.decode.gangs import member_specs
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods import rank
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.pods.requests import pod_requests
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.decode.workloads import role_templates
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind
from gang_scheduler.model import resources
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import Amounts
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import PodTemplate
from gang_scheduler.wire.workloads.lws import LeaderWorkerSet, LeaderWorkerTemplate

SOURCE: Final = GangSource("LeaderWorkerSet")
PREFIX: Final = "leaderworkerset.sigs.k8s.io/"
GROUP_KEY: Final = f"{PREFIX}group-key"
NAME: Final = f"{PREFIX}name"
GROUP_INDEX: Final = f"{PREFIX}group-index"
WORKER_INDEX: Final = f"{PREFIX}worker-index"
SIZE: Final = f"{PREFIX}size"
INDEXES: Final = (GROUP_INDEX, WORKER_INDEX)
LEADER, WORKER = "leader", "worker"
LEADER_READY: Final = "LeaderReady"
"""The startup policy by which workers are created once the leader is ready."""


def name_of(source: pod_wire.Pod) -> str:
    """Return the name of a group: that of its LeaderWorkerSet with its index, as SET/0."""
    labels = source.metadata.labels
    key, name, index = (labels.get(each) for each in (GROUP_KEY, NAME, GROUP_INDEX))
    return _group(name, index) if name and index else key or ""


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: the leader is the one with index 0."""
    index = metadata.labels.get(WORKER_INDEX)
    return "" if index is None else LEADER if index == "0" else WORKER


def by_members(key: GangKey, members: Iterable[Pod], described: GangSpec | None) -> GangSpec | None:
    """Return the gang of a group: as many members as the annotation says.

    If its workers come after its leader, the leader starts once the cluster has free what all
    need. As soon as there are workers, the gang needs these, too.
    """
    members = tuple(members)
    found = member_specs.by_the_oldest(key, members, _size, SIZE)
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
    """Return what is wrong with members that were made while the webhook was away."""
    bare = next((each for each in members if not (each.role or each.node)), None)
    if bare is None:
        return None
    label = keys.label_field(WORKER_INDEX)
    text = f"pod {bare.key}: {label} is missing, which the webhook of LeaderWorkerSet writes"
    return Problem(Reason.INVALID_SPEC, InvalidInput(text))


def read(body: Body) -> GangObject:
    """Return a LeaderWorkerSet. Raises InvalidField for what is no LeaderWorkerSet."""
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
    said = role_templates.with_annotations(plain, metadata, _templates(spec.leader_worker_template))
    if not (needed or request) and said == plain:
        return GangObject(metadata.uid)
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
    """Return what a whole group asks for."""
    worker = _requests(template.worker_template)
    leader = _requests(template.leader_template or template.worker_template)
    workers = {name: amount * (template.size - 1) for name, amount in worker.items()}
    return resources.add(leader, workers)


def _requests(template: PodTemplate) -> Amounts:
    return pod_requests(pod_wire.Pod(template.metadata, template.spec))


KIND: Final = WorkloadKind(
    PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({GROUP_KEY}),
        role_of=role_of,
        rank_of=lambda metadata: rank.numbers(metadata, INDEXES),
        rank_keys=frozenset(INDEXES),
        by_default=True,
        prefixes=(PREFIX,),
    ),
    ObjectsOfKind(LEADER_WORKER_SETS, read, Unreadable.KEEP),
    by_members,
)
