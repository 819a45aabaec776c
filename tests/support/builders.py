"""Builders of objects of the model. A test names only what it is about.

`api_objects` builds the same things as the API server sends them, and `plan_reading` reads what is
decided. Amounts are written as in manifests.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gang_scheduler.api.kinds import GVR, POD_GROUPS
from gang_scheduler.decode import checkpoints, topology
from gang_scheduler.decode.gang_annotations import GangOptions, gang_annotations_of
from gang_scheduler.decode.gangs.specs import GangSpec
from gang_scheduler.decode.queues import naming
from gang_scheduler.model.api_words import Operator
from gang_scheduler.model.bound_pods import BoundGang, BoundPod, BoundPods, Charged, by_gang
from gang_scheduler.model.evictions import RunningGang
from gang_scheduler.model.gangs import Gang, GangGroup, MatchPolicy, PreemptionBlock
from gang_scheduler.model.layers import TreeSpec
from gang_scheduler.model.nodes import IntArray, Node, NodeTable, Taint, Toleration
from gang_scheduler.model.pods import HostPort, Pod, PodClass, PodPhase
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import amount_of
from gang_scheduler.model.selectors import NodeTerm, Requirement
from gang_scheduler.model.snapshot import Nominated, Snapshot
from gang_scheduler.model.topology_request import PodSet, TopologyRequest
from gang_scheduler.model.volumes import NO_VOLUMES, Storage, Volumes
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Metadata, OwnerReference
from gang_scheduler.workloads import table

SCHEDULER = "py-gang-scheduler"
NAMESPACE = "default"
GPU = "nvidia.com/gpu"
POD_GROUP_LABEL = "pod-group.scheduling.sigs.k8s.io"

Amount = int | str
Text = Mapping[str, str]


def amounts(
    *,
    cpu: Amount = 0,
    memory: Amount = 0,
    gpu: Amount = 0,
    pods: Amount = 0,
    extra: Mapping[str, Amount] | None = None,
) -> tuple[tuple[str, int], ...]:
    """Return amounts as the model writes them; what is zero is left out."""
    named = {"cpu": cpu, "memory": memory, GPU: gpu, "pods": pods, **(extra or {})}
    parsed = {name: amount_of(name, amount) for name, amount in named.items()}
    return tuple(sorted((name, amount) for name, amount in parsed.items() if amount))


def taint(text: str) -> Taint:
    """Return the taint that kubectl writes like this: `key=value:Effect` or `key:Effect`."""
    name, _, effect = text.partition(":")
    key, _, value = name.partition("=")
    return Taint(key, value, effect)


def node(
    name: str,
    *,
    cpu: Amount = 8,
    memory: Amount = "32Gi",
    gpu: Amount = 0,
    pods: Amount = 110,
    extra: Mapping[str, Amount] | None = None,
    labels: Text | None = None,
    taints: Iterable[str] = (),
    ready: bool = True,
    unschedulable: bool = False,
) -> Node:
    """Return a node with room for many small pods."""
    return Node(
        name=name,
        uid=f"uid-{name}",
        labels=dict(labels or {}),
        taints=tuple(taint(each) for each in taints),
        unschedulable=unschedulable,
        ready=ready,
        allocatable=amounts(cpu=cpu, memory=memory, gpu=gpu, pods=pods, extra=extra),
    )


def requirement(key: str, operator: str, *values: str, on_field: bool = False) -> Requirement:
    """Return one expression of a node selector term."""
    return Requirement(key, Operator(operator), values, on_field)


def pod_class(
    *,
    cpu: Amount = 1,
    memory: Amount = 0,
    gpu: Amount = 0,
    pods: Amount = 1,
    extra: Mapping[str, Amount] | None = None,
    selector: Text | None = None,
    affinity: tuple[NodeTerm, ...] | None = None,
    tolerations: Sequence[Toleration] = (),
    ports: Sequence[HostPort] = (),
    features: Sequence[str] = (),
    storage: Storage | None = None,
    unsupported: Sequence[str] = (),
) -> PodClass:
    """Return what a pod asks for: one CPU, unless told otherwise."""
    return PodClass(
        requests=amounts(cpu=cpu, memory=memory, gpu=gpu, pods=pods, extra=extra),
        node_selector=tuple(sorted((selector or {}).items())),
        affinity=affinity,
        tolerations=tuple(tolerations),
        host_ports=tuple(ports),
        features=tuple(features),
        storage=storage,
        unsupported=tuple(unsupported),
    )


def pod(
    name: str,
    *,
    gang: str = "",
    node: str = "",
    uid: str = "",
    namespace: str = NAMESPACE,
    scheduler: str = SCHEDULER,
    priority: int = 0,
    created_at: int = 0,
    phase: str = "Pending",
    deleting: bool = False,
    gated: bool = False,
    owner: str = "",
    job: str = "",
    scheduling_group: str = "",
    podset: PodSet | None = None,
    labels: Text | None = None,
    annotations: Text | None = None,
    nominated: str = "",
    marked_as_victim: bool = False,
    started_at: int = 0,
    gone_by: int = 0,
    **asks: Any,
) -> Pod:
    """Return a pod, of the PodGroup `gang` if given. `asks` are the arguments of `pod_class`."""
    owners = [OwnerReference("batch/v1", "Job", job, controller=True)] if job else []
    metadata = Metadata(
        name=name,
        namespace=namespace,
        labels={**({POD_GROUP_LABEL: gang} if gang else {}), **(labels or {})},
        annotations=dict(annotations or {}),
        owner_references=owners,
    )
    group = pod_wire.SchedulingGroup(scheduling_group)
    wire = pod_wire.Pod(metadata, pod_wire.PodSpec(scheduling_group=group))
    return Pod(
        uid=uid or f"uid-{name}",
        namespace=namespace,
        name=name,
        gang=table.MEMBERSHIP.gang_of(wire),
        pod_class=pod_class(**asks),
        scheduler=scheduler,
        node=node,
        priority=priority,
        created_at=created_at,
        phase=PodPhase(phase),
        deleting=deleting,
        gated=gated,
        owner=owner,
        job=job,
        job_uid=f"uid-{job}" if job else "",
        podset=podset,
        gang_request=topology.of_pod(metadata.annotations),
        gang_annotations=gang_annotations_of(f"{namespace}/{name}", metadata.annotations),
        queue_request=naming.request_of(metadata.labels, metadata.annotations),
        charged_to=naming.charged_to(metadata.annotations),
        checkpoint=checkpoints.of_pod(metadata.annotations, ()),
        annotations=metadata.annotations,
        labels=metadata.labels,
        nominated=nominated,
        marked_as_victim=marked_as_victim,
        started_at=started_at,
        gone_by=gone_by,
    )


def gang_key(name: str, namespace: str = NAMESPACE) -> GangKey:
    """Return the key of the gang that the PodGroup `name` describes."""
    return GangKey("PodGroup", namespace, name)


def gang_spec(
    name: str = "a",
    min_member: int = 1,
    *,
    namespace: str = NAMESPACE,
    gvr: GVR = POD_GROUPS,
    uid: str = "",
    created_at: int = 5,
    problem: Problem | None = None,
    was_scheduled: bool = False,
    min_resources: tuple[tuple[str, int], ...] = (),
    **options: Any,
) -> GangSpec:
    """Return what a PodGroup says. `options` are fields of GangOptions."""
    return GangSpec(
        key=gang_key(name, namespace),
        uid=uid or f"uid-{name}",
        gvr=gvr,
        created_at=created_at,
        min_member=min_member,
        problem=problem,
        was_scheduled=was_scheduled,
        min_resources=min_resources,
        options=GangOptions(**options),
    )


def gang(
    name: str,
    *,
    pods: int = 1,
    members: Sequence[Pod] = (),
    min_member: int | None = None,
    priority: int = 0,
    created_at: int = 0,
    uid: str = "",
    bound: int = 0,
    satisfied: bool = False,
    strict: bool = True,
    match_policy: str = "once-satisfied",
    min_resources: tuple[tuple[str, int], ...] = (),
    bound_members: Sequence[Pod] = (),
    preemption_block: PreemptionBlock | None = None,
    problem: Problem | None = None,
    **asks: Any,
) -> Gang:
    """Return a waiting gang of `pods` equal members `<name>-<i>`, or of `members` as given.

    Without `min_member` the gang is rigid: all of it is the quorum.
    """
    pending = tuple(members) or tuple(
        pod(f"{name}-{i}", gang=name, priority=priority, **asks) for i in range(pods)
    )
    return Gang(
        key=gang_key(name),
        uid=uid or f"uid-{name}",
        created_at=created_at,
        priority=priority,
        min_member=len(pending) + (bound or len(bound_members))
        if min_member is None
        else min_member,
        pending=pending,
        bound=bound or len(bound_members),
        was_whole=satisfied,
        strict=strict,
        match_policy=MatchPolicy(match_policy),
        min_resources=min_resources,
        bound_members=tuple(bound_members),
        preemption_block=preemption_block,
        problem=problem,
    )


def group(
    *gangs: Gang,
    problem: Problem | None = None,
    topology_request: TopologyRequest | None = None,
    started: Sequence[Pod] = (),
) -> GangGroup:
    """Return gangs that start together."""
    in_order = tuple(sorted(gangs, key=lambda each: each.key))
    return GangGroup(in_order, problem, topology_request, tuple(started))


def bound_pod(
    name: str,
    node: str,
    *,
    gang: str = "",
    evictable: bool = True,
    budgets: Sequence[str] = (),
    unprotected: bool = False,
    **fields: Any,
) -> BoundPod:
    """Return a pod that has a node: a gang of one, unless told otherwise.

    `fields` are the arguments of `pod`.
    """
    key = gang_key(gang) if gang else GangKey("pod", NAMESPACE, name)
    held = pod(name, gang=gang, node=node, **fields)
    return BoundPod(held, key, evictable, tuple(budgets), unprotected=unprotected)


def bound_pods(
    *those: BoundPod,
    surplus: Mapping[str, int] | None = None,
    allowed: Mapping[str, int] | None = None,
) -> BoundPods:
    """Return the pods on nodes. `surplus` is by name of the gang, `allowed` by budget."""
    spare = {gang_key(name): number for name, number in (surplus or {}).items()}
    staying = tuple(each for each in those if not each.pod.deleting)
    leaving = tuple(each for each in those if each.pod.deleting)
    return BoundPods(staying, spare, dict(allowed or {}), leaving)


def in_queues(
    bound_pods: BoundPods,
    charged: Mapping[str, Charged],
    known: Mapping[GangKey, RunningGang] | None = None,
) -> BoundPods:
    """Return pods on nodes with what they are charged, and what is known of their gangs."""
    gangs = {
        key: BoundGang(
            tuple(pods),
            tuple(charged.get(each.pod.uid) for each in pods),
            (known or {}).get(key, RunningGang()),
        )
        for key, pods in by_gang(bound_pods.pods).items()
    }
    return replace(bound_pods, charged=charged, gangs=gangs)


def snapshot(
    nodes: Iterable[Node],
    gangs: Iterable[Gang | GangGroup] = (),
    bound: Iterable[Pod] = (),
    tree_specs: Iterable[TreeSpec] = (),
    *,
    volumes: Volumes = NO_VOLUMES,
    bound_pods: BoundPods | None = None,
    nominated: Iterable[Nominated] = (),
    taken_at: int = 0,
) -> Snapshot:
    """Return a snapshot in which `bound` and `bound pods` use room; a gang is a group of its own.

    Members of the gangs that have a nominated node are `nominated`, besides those given.
    """
    table = NodeTable(nodes)
    free = table.allocatable.copy()
    ports: dict[int, frozenset[HostPort]] = {}
    held: dict[int, IntArray] = {}
    there = (*bound_pods.pods, *bound_pods.leaving) if bound_pods else ()
    on_nodes = [each.pod for each in there]
    for each in (*bound, *on_nodes):
        row = table.rows[each.node]
        used = table.vector(each.pod_class.requests)
        free[row] -= used
        held[each.priority] = held.get(each.priority, 0) + used
        if each.pod_class.host_ports:
            ports[row] = ports.get(row, frozenset()) | set(each.pod_class.host_ports)
    groups = tuple(each if isinstance(each, GangGroup) else group(each) for each in gangs)
    return Snapshot(
        taken_at=taken_at,
        nodes=table,
        free=np.asarray(free, dtype=np.int64),
        host_ports=ports,
        volumes=volumes,
        held=held,
        tree_specs=tuple(tree_specs),
        bound_pods=bound_pods,
        nominated=(*nominated, *_nominated(groups)),
        groups=groups,
    )


def _nominated(groups: Iterable[GangGroup]) -> list[Nominated]:
    waiting = (each for several in groups for each in several.waiting)
    return [
        Nominated(member, each.key, each.priority)
        for each in waiting
        for member in each.pending
        if member.nominated
    ]
