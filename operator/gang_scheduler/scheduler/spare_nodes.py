"""The nodes kept spare for members that replace the lost members of a running gang.

In each domain of a layer, the last nodes that are wholly free are kept, in the order of the network
tree. A node is wholly free if it is ready, not cordoned, and has only pods that always come back to
it (of DaemonSets and mirror pods). The choice depends only on the snapshot, and stays for the
cycle.
"""

from collections.abc import Sequence

import numpy as np

from gang_scheduler.model import topology
from gang_scheduler.model.bound_pods import NONE_PINNED, PinnedPods
from gang_scheduler.model.nodes import BoolArray, IntArray, NodeTable
from gang_scheduler.model.rules import SpareNodes
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.topology_request import LayerRef
from gang_scheduler.model.topology_scope import NODES_ALONE
from gang_scheduler.scheduler.trial import shares


def kept(snapshot: Snapshot, rules: Sequence[SpareNodes]) -> BoolArray | None:
    """Return the rows of the spare nodes; None if there are none. Linear in nodes.

    A rule for a layer that no tree has keeps no nodes.
    """
    if not rules:
        return None
    found = np.zeros(len(snapshot.nodes), dtype=np.bool_)
    free = whole_free(snapshot)
    for rule in rules:
        place = _layer_of(rule, snapshot)
        if place is not None:
            found[_last(free & _with_labels(rule, snapshot.nodes), *place, rule.count)] = True
    return found if found.any() else None


def whole_free(snapshot: Snapshot) -> BoolArray:
    """Return the nodes that are wholly free for a gang."""
    nodes = snapshot.nodes
    used = nodes.allocatable - snapshot.free
    only_pinned = np.all(used <= _pinned_use(snapshot), axis=1)
    free: BoolArray = only_pinned & nodes.ready & ~nodes.unschedulable
    taken = {each.pod.nominated for each in snapshot.nominated} | snapshot.failed_nodes
    free[[nodes.rows[name] for name in taken if name in nodes.rows]] = False
    return free


def _layer_of(rule: SpareNodes, snapshot: Snapshot) -> tuple[Topology, int] | None:
    """Return the first tree that has the layer of a rule, and its depth there."""
    for tree_spec in snapshot.tree_specs or (NODES_ALONE,):
        tree = topology.build(tree_spec, snapshot.nodes)
        depth = tree.depth_of(LayerRef(rule.layer))
        if depth is not None:
            return tree, depth
    return None


def _with_labels(rule: SpareNodes, nodes: NodeTable) -> BoolArray:
    fitting = [nodes.label(key).matches([value]) for key, value in rule.node_selector.items()]
    everywhere = np.ones(len(nodes), dtype=np.bool_)
    found: BoolArray = np.logical_and.reduce([everywhere, *fitting])
    return found


def _last(free: BoolArray, tree: Topology, depth: int, count: int) -> IntArray:
    """Return the rows of the last `count` free nodes in each domain."""
    places = np.flatnonzero(free[tree.rows])
    domains = tree.levels[depth].at(places)
    # Places are sorted, and so are their domains: find the distance from the end of the domain.
    from_the_end = np.searchsorted(domains, domains, side="right") - np.arange(len(places))
    rows: IntArray = tree.rows[places[from_the_end <= count]]
    return rows


def _pinned_use(snapshot: Snapshot) -> IntArray:
    """Return the resources that pinned pods use: (nodes, resources)."""
    return snapshot.nodes.cached(PinnedPods, lambda: _PinnedUse(snapshot.nodes)).of(snapshot.pinned)


class _PinnedUse:
    """The resources that pinned pods use on the nodes, kept as long as the pods are the same."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._pinned = NONE_PINNED
        self._used = np.zeros_like(nodes.allocatable)

    def of(self, pinned: PinnedPods) -> IntArray:
        """Return the resources that these pods use: (nodes, resources)."""
        if pinned is not self._pinned:
            self._pinned, self._used = pinned, self._counted(pinned)
        return self._used

    def _counted(self, pinned: PinnedPods) -> IntArray:
        nodes, used = self._nodes, np.zeros_like(self._nodes.allocatable)
        there = ((each, nodes.rows[at]) for each, at in pinned.pods if at in nodes.rows)
        for share in shares(there):
            request = nodes.vector(share.pod_class.requests)
            used[share.rows] += share.counts[:, np.newaxis] * request
        return used
