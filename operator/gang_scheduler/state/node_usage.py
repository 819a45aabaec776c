"""Nodes, and what every pod in the cluster uses on them, of any scheduler."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from gang_scheduler.model.affinity.pod_affinity import AffinityCounts
from gang_scheduler.model.bound_pods import NONE_PINNED, PinnedPods
from gang_scheduler.model.nodes import IntArray, Node, NodeTable
from gang_scheduler.model.pods import HostPort, Pod, PodClass
from gang_scheduler.state.pod_affinity.counts import SelectorCounts


class _Use(NamedTuple):
    """What a pod uses, and its priority."""

    pod_class: PodClass
    priority: int


class NodeUsage:
    """Usage by node, kept up to date pod by pod. Reading it costs one copy of a matrix.

    The node table is rebuilt when a node changed in a way that matters to scheduling, which is
    linear in nodes; pods are not counted again for that.
    """

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}
        """The names of all nodes by uid. Kept, since every node of a list is looked up here."""
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, dict[str, _Use]] = {}
        self._classes: Counter[_Use] = Counter()
        self._table = NodeTable(())
        self._used = np.zeros((0, 0), dtype=np.int64)
        self._ports: dict[str, Counter[HostPort]] = {}
        self._counts = SelectorCounts()
        self._stale = False
        self._device_classes: dict[str, str] = {}
        self._pinned: dict[str, tuple[PodClass, str]] = {}
        self._pinned_pods: PinnedPods | None = NONE_PINNED

    def upsert_node(self, node: Node) -> bool:
        """Add or replace a node; return whether anything that matters changed."""
        before = self._nodes.get(node.name)
        if before == node:
            return False
        if before is not None:
            self.uids.pop(before.uid, None)
        self._nodes[node.name] = node
        self.uids[node.uid] = node.name
        self._stale = True
        return True

    def delete_node(self, name: str) -> None:
        """Forget a node. Pods on it are remembered: it may come back before they are gone."""
        node = self._nodes.pop(name, None)
        if node is not None:
            self.uids.pop(node.uid, None)
            self._stale = True

    def offer(self, device_classes: Mapping[str, str]) -> None:
        """Note which resources DeviceClasses offer, by which class."""
        if device_classes != self._device_classes:
            self._device_classes = dict(device_classes)
            self._stale = True

    def labels_of(self, node: str) -> Mapping[str, str]:
        """Return the labels of a node; none of one that is gone."""
        found = self._nodes.get(node)
        return found.labels if found is not None else {}

    def node(self, name: str) -> Node | None:
        """Return a node; None for one that is gone."""
        return self._nodes.get(name)

    def has_node(self, name: str) -> bool:
        """Return whether there is a node of a name."""
        return name in self._nodes

    def without_node(self) -> set[str]:
        """Return the names of nodes that have pods and are not there. Linear in nodes."""
        return self._pods.keys() - self._nodes.keys()

    def uids_on(self, node: str) -> Collection[str]:
        """Return the uids of the pods that are counted on a node."""
        return self._pods.get(node, {}).keys()

    def add(self, pod: Pod, node: str) -> None:
        """Count a pod on a node, or replace it there."""
        self._uncount(pod.uid, node)
        use = _Use(pod.pod_class, pod.priority)
        self._pods.setdefault(node, {})[pod.uid] = use
        self._count(node, use, 1)
        self._pin(pod.uid, (pod.pod_class, node) if pod.pinned else None)

    def reclassify(self, pod: Pod, node: str) -> None:
        """Note which selectors select a pod now; its requests are the same as before."""
        before = self._pods[node][pod.uid]
        after = self._pods[node][pod.uid] = before._replace(pod_class=pod.pod_class)
        self._counts.meant_anew(node, before.pod_class, after.pod_class)
        self._number(before, -1)
        self._number(after, 1)
        if pod.uid in self._pinned:
            self._pin(pod.uid, (pod.pod_class, node))

    def remove(self, uid: str, node: str) -> None:
        """Stop counting a pod on a node."""
        self._uncount(uid, node)
        self._pin(uid, None)

    def table(self) -> NodeTable:
        """Return the nodes as columns; the same object while no node changes."""
        if self._stale:
            self._rebuild()
        return self._table

    def free(self) -> IntArray:
        """Return allocatable less used, nodes by resources, as an immutable copy."""
        free: IntArray = self.table().allocatable - self._used
        free.flags.writeable = False
        return free

    def host_ports(self) -> Mapping[int, Collection[HostPort]]:
        """Return the taken ports of each row that has any, with how many pods take each."""
        rows = self.table().rows
        return {rows[node]: Counter(p) for node, p in self._ports.items() if node in rows}

    def affinity_counts(self, pod_classes: Iterable[PodClass]) -> AffinityCounts:
        """Return the pods on each node, counted by what pods of these classes ask of others."""
        return self._counts.of(pod_classes, self.table().rows)

    def pinned(self) -> PinnedPods:
        """Return the pods that come back to the same node; the same object while none changes."""
        if self._pinned_pods is None:
            self._pinned_pods = PinnedPods(tuple(self._pinned.values()))
        return self._pinned_pods

    def held(self) -> dict[int, IntArray]:
        """Return what pods of each priority use on all nodes.

        Linear in classes of pods, in nodes, and in pods on nodes that are gone.
        """
        table, there = self.table(), self._classes.copy()
        for node, pods in self._pods.items():
            if node not in table.rows:
                there.subtract(pods.values())
        held: dict[int, IntArray] = {}
        for use, number in there.items():
            vector = number * table.vector(use.pod_class.requests)
            held[use.priority] = held.get(use.priority, 0) + vector
        return held

    def _pin(self, uid: str, pinned: tuple[PodClass, str] | None) -> None:
        """Note where a pinned pod is, None for a pod that is not pinned, or gone."""
        if self._pinned.get(uid) == pinned:
            return
        self._pinned_pods = None
        if pinned is None:
            del self._pinned[uid]
        else:
            self._pinned[uid] = pinned

    def _uncount(self, uid: str, node: str) -> None:
        pods = self._pods.get(node, {})
        use = pods.pop(uid, None)
        if use is not None:
            self._count(node, use, -1)
        if not pods:
            self._pods.pop(node, None)

    def _count(self, node: str, use: _Use, sign: int) -> None:
        self._number(use, sign)
        pod_class = use.pod_class
        row = self._table.rows.get(node)
        # A node without a row in a stale table is counted in _rebuild.
        if row is not None:
            self._used[row] += sign * self._table.vector(pod_class.requests)
        if pod_class.host_ports:
            ports = self._ports.setdefault(node, Counter())
            ports.update(dict.fromkeys(pod_class.host_ports, sign))
            if taken := +ports:
                self._ports[node] = taken
            else:
                del self._ports[node]
        if pod_class.selected_by or pod_class.pod_affinity is not None:
            self._counts.count(node, pod_class, sign)

    def _number(self, use: _Use, sign: int) -> None:
        self._classes[use] += sign
        if not self._classes[use]:
            del self._classes[use]

    def _rebuild(self) -> None:
        old, used = self._table, self._used
        self._table = table = NodeTable(self._nodes.values(), self._device_classes)
        self._used = np.zeros((len(table), len(table.resources)), dtype=np.int64)
        self._stale = False
        same_axis = table.resources == old.resources
        for row, node in enumerate(table.nodes):
            if same_axis and node.name in old.rows:
                self._used[row] = used[old.rows[node.name]]
            else:
                for use in self._pods.get(node.name, {}).values():
                    self._used[row] += table.vector(use.pod_class.requests)
