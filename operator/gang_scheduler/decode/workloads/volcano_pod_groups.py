"""The PodGroups of Volcano, which its controllers make of its Jobs and other ones of theirs."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gang_scheduler.api.kinds import RAY_CLUSTERS, VOLCANO_JOBS, VOLCANO_POD_GROUPS
from gang_scheduler.decode import fields, keys
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import ray_clusters, role_templates
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import FieldsUnsupported
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.network.topology_request import LayerRef, TopologyRequest
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey, QueueName, QueueNameKind, QueueRequest
from gang_scheduler.wire.metadata import Metadata, OwnerReference
from gang_scheduler.wire.pods import Pod
from gang_scheduler.wire.queues.volcano import NetworkTopology, PodGroup, PodGroupSpec

SOURCE: Final = gang_sources.VOLCANO_POD_GROUP
JOB: Final = "VolcanoJob"
"""A Job of Volcano, of which gangs are made by its PodGroup alone."""
TASK: Final = "volcano.sh/task-spec"
REQUESTS: Final = "requests."
OF_QUOTAS: Final = ("limits.", "count/")
PREEMPTABLE: Final = "volcano.sh/preemptable"
HARD: Final = "hard"
TOPOLOGY: Final = "spec.networkTopology"
TIER: Final = f"{TOPOLOGY}.highestTierAllowed"
TIER_NAME: Final = f"{TOPOLOGY}.highestTierName"


def name_of(source: Pod) -> str:
    """Return the name of the PodGroup that a pod names in an annotation; "" for none."""
    present = source.metadata.annotations
    return next(filter(None, (present.get(key) for key in keys.VOLCANO_GROUPS)), "")


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: its task in a Job of Volcano."""
    return metadata.labels.get(TASK) or metadata.annotations.get(TASK, "")


def read(body: Body) -> GangObject:
    """Return a PodGroup of Volcano. Raises InvalidField for what is none."""
    source = fields.read(body, PodGroup)
    metadata, spec = source.metadata, source.spec
    declared = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=VOLCANO_POD_GROUPS,
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=max(1, spec.min_member),
        roles=_roles(spec),
        priority_class=spec.priority_class_name,
        preemptable=_is_preemptable(source),
        min_resources=_min_resources(spec),
        queue_request=_queue_request(source),
        made_for=_job_of(metadata) or _ray_cluster_of(metadata),
        status={"phase": source.status.phase},
    )
    found = role_templates.with_annotations(declared, metadata, ())
    unsupported = tuple(_unsupported(spec))
    if found.problem is None and unsupported:
        cause = FieldsUnsupported(unsupported)
        found = replace(found, problem=Problem(Reason.UNSUPPORTED_FEATURE, cause))
    if found.topology_request is None:
        found = replace(found, topology_request=_topology_request(spec.network_topology))
    return GangObject(metadata.uid, (found,))


def _roles(spec: PodGroupSpec) -> tuple[Role, ...]:
    """Return the tasks with the least of each; none where Volcano goes by the total alone."""
    least = {task: number for task, number in spec.min_task_member.items() if number > 0}
    if not least or sum(least.values()) != spec.min_member:
        return ()
    return tuple(Role(task, number) for task, number in spec.min_task_member.items())


def _min_resources(spec: PodGroupSpec) -> tuple[tuple[str, int], ...]:
    """Return what the quorum needs. Volcano writes what a ResourceQuota counts beside it."""
    asked = {
        name.removeprefix(REQUESTS): amount
        for name, amount in spec.min_resources.items()
        if not name.startswith(OF_QUOTAS)
    }
    return tuple(sorted(fields.amounts(asked, "spec.minResources").items()))


def _is_preemptable(source: PodGroup) -> bool:
    """Return whether pods may be evicted for others: by the field, else by the older mark."""
    if source.spec.preemptable is not None:
        return source.spec.preemptable
    metadata = source.metadata
    return "false" not in (metadata.annotations.get(PREEMPTABLE), metadata.labels.get(PREEMPTABLE))


def _job_of(metadata: Metadata) -> GangKey | None:
    """Return the Job of Volcano that a PodGroup was made for; None for any other PodGroup."""
    owners = metadata.owner_references
    jobs = (each for each in owners if (each.kind, _group(each)) == ("Job", VOLCANO_JOBS.group))
    found = next(jobs, None)
    return None if found is None else GangKey(JOB, metadata.namespace, found.name)


def _ray_cluster_of(metadata: Metadata) -> GangKey | None:
    """Return the RayCluster that a PodGroup was made for; None for any other PodGroup.

    KubeRay writes minMember once. Where Ray or a user scales the RayCluster later, minMember stays,
    and only the RayCluster says how many pods there will be.
    """
    owner = metadata.controller
    if (owner.kind, _group(owner)) != (ray_clusters.SOURCE.name, RAY_CLUSTERS[0].group):
        return None
    return GangKey(ray_clusters.SOURCE.name, metadata.namespace, owner.name)


def _group(owner: OwnerReference) -> str:
    return owner.api_version.partition("/")[0]


def _unsupported(spec: PodGroupSpec) -> Iterator[str]:
    """Yield the fields that cannot be honoured, and must not be ignored."""
    if sum(spec.min_task_member.values()) < spec.min_member and spec.min_task_member:
        yield "spec.minMember above the sum of spec.minTaskMember"
    if spec.network_topology.mode == HARD and not spec.network_topology.highest_tier_name:
        yield f"{TIER} without {TIER_NAME}, the name of a layer,"
    if spec.sub_group_policy:
        yield "spec.subGroupPolicy"


def _topology_request(asked: NetworkTopology) -> TopologyRequest | None:
    """Return the request to gather in the tier, which is the layer of that name."""
    name = asked.highest_tier_name
    if not name:
        return None
    layers = (LayerRef(name),)
    if asked.mode == HARD:
        return TopologyRequest(must=layers, where=TIER_NAME)
    return TopologyRequest(prefer=layers, where=TIER_NAME)


def _queue_request(source: PodGroup) -> QueueRequest | None:
    """Return what a PodGroup says of its queue: by a label, else by its own field."""
    own = naming.request_of(source.metadata.labels, source.metadata.annotations)
    if not source.spec.queue or (own is not None and own.names):
        return own
    names = (QueueName(QueueNameKind.VOLCANO_QUEUE, source.spec.queue),)
    return QueueRequest(names, own.priority_class if own is not None else "")


KIND: Final = WorkloadKind(
    PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset(keys.VOLCANO_GROUPS),
        role_of=role_of,
        by_default=True,
    ),
    ObjectsOfKind((VOLCANO_POD_GROUPS,), read),
)
