"""The objects that declare topology trees, and the trees in force.

Plain synchronous code, a part of the cache. Lazy: a tree is built when it is first needed, and kept
until the nodes or the layers change.
"""

import asyncio
import itertools
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from gang_scheduler.decode.topology import DEFAULT_TREE, DeclaredTopology
from gang_scheduler.model import topology, topology_scope
from gang_scheduler.model.layers import TreeSpec
from gang_scheduler.model.nodes import ABSENT, NodeTable
from gang_scheduler.model.topology import Domain, Topology
from gang_scheduler.model.topology_request import TopologyRequest
from gang_scheduler.model.topology_scope import NODES_ALONE, TopologyScope


class Topologies:
    """All topology objects by uid; `changed` is set when one of their statuses may have changed."""

    def __init__(self, changed: asyncio.Event) -> None:
        self._changed = changed
        self.declared: dict[str, DeclaredTopology] = {}
        # The last valid tree spec of each object, by uid: it outlives an invalid spec.
        self._valid: dict[str, TreeSpec] = {}
        self._tree_specs: tuple[TreeSpec, ...] = ()
        self._layers = _layers(())

    def uids(self, api_group: str) -> Collection[str]:
        """Return the uids of all objects of an API group."""
        return {u for u, each in self.declared.items() if each.gvr.group == api_group}

    def upsert(self, declared: DeclaredTopology) -> bool:
        """Store an object; return whether the trees have changed.

        The last valid tree spec of an object stays in force if the new spec is invalid.
        """
        self._forget_earlier_lives(declared)
        self.declared[declared.uid] = declared
        if declared.tree_spec is not None:
            self._valid[declared.uid] = declared.tree_spec
        self._changed.set()
        return self._rearranged()

    def delete(self, uid: str) -> bool:
        """Forget an object and its tree; return whether the trees have changed."""
        self._forget(uid)
        return self._rearranged()

    def nodes_changed(self) -> None:
        """Note that the nodes have changed."""
        if self.declared:
            self._changed.set()

    def tree_specs(self) -> tuple[TreeSpec, ...]:
        """Return the specs of the trees in force, in the order in which layers are looked up."""
        return self._tree_specs

    def layers(self) -> frozenset[str]:
        """Return the names of the layers of all trees in force."""
        return self._layers

    def tree_spec_of(self, uid: str) -> TreeSpec | None:
        """Return the last valid tree spec of an object."""
        return self._valid.get(uid)

    def tree(self, nodes: NodeTable) -> Topology | None:
        """Return the tree of the default ClusterNetworkTopology; None while it has none."""
        tree_spec = next((each for each in self._tree_specs if each.name == DEFAULT_TREE), None)
        return None if tree_spec is None else topology.build(tree_spec, nodes)

    def domain_of(
        self, names: Iterable[str], nodes: NodeTable, asked: TopologyRequest | None = None
    ) -> Domain | None:
        """Return the lowest domain of these nodes, in the first tree that contains all of them.

        The tree of the topology request `asked` comes first, even if it has only a label key. None
        is the whole cluster, or means that no tree has all nodes.
        """
        rows = [nodes.rows.get(name, ABSENT) for name in set(names)]
        if ABSENT in rows:
            return None
        trees = itertools.chain(
            self._asked_for(asked, nodes),
            (topology.build(tree_spec, nodes) for tree_spec in self._tree_specs),
        )
        inside = (tree for tree in trees if (tree.places[rows] != ABSENT).all())
        first = next(inside, None)
        return None if first is None else first.lowest_of(rows)

    def home_of(
        self, names: Iterable[str], nodes: NodeTable, asked: TopologyRequest | None
    ) -> Domain | None:
        """Return the domain in which members on these nodes must stay; None is the whole cluster.

        If there are several, it is the one with the most nodes. Without a request that a layer must
        hold them, it is the lowest domain with all of the nodes.
        """
        known = [name for name in names if name in nodes.rows]
        scope = topology_scope.resolve(asked, self._tree_specs, nodes) if asked else None
        if not known:
            return None
        if not isinstance(scope, TopologyScope) or not scope.must:
            return self.domain_of(known, nodes, asked)
        places = scope.tree.places[[nodes.rows[name] for name in known]]
        domains = scope.tree.levels[scope.must].at(places[places != ABSENT])
        if not len(domains):
            return None
        return scope.tree.domain(scope.must, int(np.bincount(domains).argmax()))

    def _asked_for(self, asked: TopologyRequest | None, nodes: NodeTable) -> Iterator[Topology]:
        scope = topology_scope.resolve(asked, self._tree_specs, nodes) if asked else None
        if isinstance(scope, TopologyScope):
            yield scope.tree

    def _rearranged(self) -> bool:
        before = self._tree_specs
        used = sorted(
            (each for each in self.declared.values() if each.is_used and each.uid in self._valid),
            key=lambda each: each.order,
        )
        self._tree_specs = tuple(self._valid[each.uid] for each in used)
        self._layers = _layers(self._tree_specs)
        return self._tree_specs != before

    def _forget_earlier_lives(self, declared: DeclaredTopology) -> None:
        # The same name has another uid: the deletion of the earlier object was missed.
        called = [each for each in self.declared.values() if each.order == declared.order]
        for each in called:
            if each.uid != declared.uid:
                self._forget(each.uid)

    def _forget(self, uid: str) -> None:
        self.declared.pop(uid, None)
        self._valid.pop(uid, None)


def _layers(tree_specs: Iterable[TreeSpec]) -> frozenset[str]:
    """Return the names of all layers; without a tree, only the layer of nodes."""
    used = tuple(tree_specs) or (NODES_ALONE,)
    return frozenset(layer.name for each in used for layer in each.layers)
