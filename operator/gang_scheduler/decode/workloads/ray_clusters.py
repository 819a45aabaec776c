"""RayClusters, also those of RayJobs and RayServices: the head and the groups of workers.

A cluster that Ray scales, or that is elastic, starts with the least of each group.
"""

from collections.abc import Iterator
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import GVR, RAY_CLUSTERS
from gang_scheduler.decode import fields
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods.membership import PodsOfKind
from gang_scheduler.decode.pods.rank import Rank
from gang_scheduler.decode.queues import naming
from gang_scheduler.decode.workloads import role_templates
from gang_scheduler.decode.workloads.kind import Body, ObjectsOfKind, WorkloadKind
from gang_scheduler.model.gang_sources import GangSource
from gang_scheduler.model.gangs import Role
from gang_scheduler.model.refs import GangKey
from gang_scheduler.wire.metadata import Metadata
from gang_scheduler.wire.pods import Pod
from gang_scheduler.wire.workloads.ray import RayCluster, RayClusterSpec

SOURCE: Final = GangSource("RayCluster", "RayCluster")
CLUSTER: Final = "ray.io/cluster"
NODE_TYPE: Final = "ray.io/node-type"
GROUP: Final = "ray.io/group"
HEAD, WORKER = "head", "worker"
NODES: Final = (HEAD, WORKER)
"""The pods that make a cluster, in rank order. Others with its label clean up after it."""


def name_of(source: Pod) -> str:
    """Return the name of the RayCluster of a pod; "" for a pod that is no node of one."""
    labels = source.metadata.labels
    return labels.get(CLUSTER, "") if labels.get(NODE_TYPE) in NODES else ""


def role_of(metadata: Metadata) -> str:
    """Return the role of a pod: the head, or the worker group that it is in."""
    node_type = metadata.labels.get(NODE_TYPE)
    if node_type == WORKER:
        return _role(metadata.labels.get(GROUP, ""))
    return HEAD if node_type == HEAD else ""


def rank_of(metadata: Metadata) -> Rank:
    """Return the place of the head, or that of all workers."""
    node_type = metadata.labels.get(NODE_TYPE)
    return (NODES.index(node_type),) if node_type in NODES else ()


def read(body: Body) -> GangObject:
    """Return a RayCluster. Raises InvalidField for what is no RayCluster."""
    source = fields.read(body, RayCluster)
    metadata, spec = source.metadata, source.spec
    roles = tuple(_roles(spec, is_elastic=_is_elastic(source)))
    declared = GangSpec(
        key=GangKey(SOURCE.name, metadata.namespace, metadata.name),
        uid=metadata.uid,
        gvr=_gvr(source.api_version),
        created_at=fields.timestamp(metadata.creation_timestamp),
        min_member=sum(each.min_member for each in roles),
        roles=roles,
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
    )
    templates = [each.template.metadata for each in spec.worker_group_specs]
    templates.append(spec.head_group_spec.template.metadata)
    return GangObject(
        metadata.uid, (role_templates.with_annotations(declared, metadata, templates),)
    )


def _is_elastic(source: RayCluster) -> bool:
    """Return whether the number of workers is not fixed: Ray scales, or the cluster is to grow."""
    is_ours = annotations.ELASTIC in source.metadata.annotations
    return source.spec.enable_in_tree_autoscaling or is_ours


def _roles(spec: RayClusterSpec, *, is_elastic: bool) -> Iterator[Role]:
    yield Role(HEAD, 1, 1)
    for group in spec.worker_group_specs:
        yield Role(_role(group.group_name), group.least if is_elastic else group.number)


def _role(group: str) -> str:
    """Return the role of the workers of a group: its name, if that is not the head's."""
    return f"{group}-{WORKER}" if group == HEAD else group


def _gvr(api_version: str) -> GVR:
    """Return the kind in the version that an object came in."""
    exact = (each for each in RAY_CLUSTERS if each.api_version == api_version)
    return next(exact, RAY_CLUSTERS[0])


KIND: Final = WorkloadKind(
    PodsOfKind(
        SOURCE,
        name_of,
        keys=frozenset({CLUSTER}),
        role_of=role_of,
        rank_of=rank_of,
        rank_keys=frozenset({NODE_TYPE}),
        by_default=True,
    ),
    ObjectsOfKind(RAY_CLUSTERS, read),
    has_roles=True,
)
