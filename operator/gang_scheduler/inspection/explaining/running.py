"""Where a gang runs, since when, and which gangs could evict it."""

from typing import Any

import numpy as np

from gang_scheduler.api.conditions import rfc3339
from gang_scheduler.inspection.clusters import Cluster
from gang_scheduler.model.bound_pods import BoundPods
from gang_scheduler.model.network import topology
from gang_scheduler.model.network.topology import Topology
from gang_scheduler.model.pods import Pod
from gang_scheduler.report.texts import degraded_texts, elastic_texts
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo

Json = dict[str, Any]


def running_of(info: GangInfo, cluster: Cluster, bound_pods: BoundPods) -> Json | None:
    """Return where members are; None if none has a node. Linear in pods of the cluster."""
    members = [pod for pod in info.observed.living if pod.node]
    if not members:
        return None
    cache = cluster.cache
    domain = cache.domain_of(phases.nodes_of(info), info.observed.asks)
    complete = max((int(pod.created_at) for pod in info.observed.living), default=0)
    since = max((pod.scheduled_at or pod.started_at for pod in members), default=0)
    made: Json = {
        "members": len(members),
        "since": rfc3339(since) if since else None,
        "waitedSeconds": max(0, since - complete) if since and complete else None,
        "domain": str(domain) if domain is not None else None,
        "spans": _spans(members, cluster),
        "ranks": _ranks(info, members),
        "evictable": _evictable(info, cluster, bound_pods),
    }
    elastic, degraded = elastic_texts.status_of(info), cache.degraded.of(info.key, cluster.read_at)
    made |= {"elastic": elastic} if elastic is not None else {}
    return made | ({"degraded": degraded_texts.words(degraded)} if degraded is not None else {})


def _spans(members: list[Pod], cluster: Cluster) -> list[Json]:
    """Return how many domains of each layer have members, in the first tree."""
    specs = cluster.cache.topologies.tree_specs()
    nodes = cluster.cache.node_usage.table()
    if not specs or not len(nodes):
        return []
    tree = topology.build(specs[0], nodes)
    rows = [nodes.rows[pod.node] for pod in members if pod.node in nodes.rows]
    return [
        {"layer": tree.levels[depth].layer, "domains": number}
        for depth, number in _numbers(tree, rows)
    ]


def _numbers(tree: Topology, rows: list[int]) -> list[tuple[int, int]]:
    places = tree.places[np.array(rows, dtype=np.int64)]
    inside = places[places >= 0]
    if not len(inside):
        return []
    depths = range(1, len(tree.levels))
    return [(depth, len(np.unique(tree.levels[depth].at(inside)))) for depth in depths]


def _ranks(info: GangInfo, members: list[Pod]) -> list[Json]:
    """Return the ranks of members by node, in rank order."""
    in_order = info.observed.in_rank_order(members)
    by_node: dict[str, list[int]] = {}
    for rank, pod in enumerate(in_order):
        by_node.setdefault(pod.node, []).append(rank)
    return [{"node": node, "ranks": ranks} for node, ranks in by_node.items()]


def _evictable(info: GangInfo, cluster: Cluster, bound_pods: BoundPods) -> Json:
    """Return from which priority on gangs may evict members, and in which queue it is."""
    own = [each for each in bound_pods.pods if each.gang == info.key]
    may_go = sum(1 for each in own if each.evictable)
    least = cluster.policy.min_priority_difference
    queue = cluster.cache.queue_of(info.key)
    return {
        "pods": may_go,
        "protected": len(own) - may_go,
        "fromPriority": max((each.priority for each in own), default=0) + least,
        "queue": queue.name if queue is not None else None,
    }
