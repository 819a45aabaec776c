"""Nodes: their use by every pod and by nominations, and the pods that their kubelets refuse."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.bound_pods import NONE_PINNED, PinnedPods
from gang_scheduler.model.nodes import IntArray, Node, NodeTable
from gang_scheduler.model.pods import HostPort, Pod, PodClass, rank_key
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.resources import Requests
from gang_scheduler.model.selectors import AffinityCounts
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.pod_affinity import SelectorCounts


class _Use(NamedTuple):
    """The resources that a pod uses, and its priority."""

    pod_class: PodClass
    priority: int


class NodeUsage:
    """Usage by node, kept up to date pod by pod.

    Reading it costs one copy of a matrix. The node table is rebuilt when a node changes in a way
    that matters to scheduling. That is linear in nodes; pods are not counted again.
    """

    def __init__(self) -> None:
        self.uids: dict[str, str] = {}
        """The names of all nodes by uid, kept because every node of a list is looked up here."""
        self._nodes: dict[str, Node] = {}
        self._pods: dict[str, dict[str, _Use]] = {}
        self._classes: Counter[_Use] = Counter()
        self._table = NodeTable(())
        self._used = np.zeros((0, 0), dtype=np.int64)
        self._ports: dict[str, Counter[HostPort]] = {}
        self._counts = SelectorCounts()
        self._stale = False
        self._device_classes: dict[str, str] = {}
        self._asked_of_devices: frozenset[str] = frozenset()
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
        """Forget a node, but not its pods: it may come back before they are gone."""
        node = self._nodes.pop(name, None)
        if node is not None:
            self.uids.pop(node.uid, None)
            self._stale = True

    def offer(self, device_classes: Mapping[str, str]) -> None:
        """Note which resources each DeviceClass offers."""
        if device_classes != self._device_classes:
            self._device_classes = dict(device_classes)
            self._stale = True

    def ask_of_devices(self, resources: frozenset[str]) -> None:
        """Note the resources that pods ask for, and that DeviceClasses offer."""
        if resources != self._asked_of_devices:
            self._asked_of_devices = resources
            self._stale = True

    def labels_of(self, node: str) -> Mapping[str, str]:
        """Return the labels of a node; none if it is gone."""
        found = self._nodes.get(node)
        return found.labels if found is not None else {}

    def node(self, name: str) -> Node | None:
        """Return a node; None if it is gone."""
        return self._nodes.get(name)

    def has_node(self, name: str) -> bool:
        """Return whether the node exists."""
        return name in self._nodes

    def without_node(self) -> set[str]:
        """Return the names of missing nodes that have pods. Linear in nodes."""
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
        """Note which selectors select a pod now; its requests have not changed."""
        before = self._pods[node][pod.uid]
        after = self._pods[node][pod.uid] = before._replace(pod_class=pod.pod_class)
        self._counts.reselected(node, before.pod_class, after.pod_class)
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
        """Return the unused allocatable amounts as an immutable copy: (nodes, resources)."""
        free: IntArray = self.table().allocatable - self._used
        free.flags.writeable = False
        return free

    def host_ports(self) -> Mapping[int, Collection[HostPort]]:
        """Return the taken ports of each row that has any, with the number of pods for each."""
        rows = self.table().rows
        return {rows[node]: Counter(p) for node, p in self._ports.items() if node in rows}

    def affinity_counts(self, pod_classes: Iterable[PodClass]) -> AffinityCounts:
        """Return the pods on each node, counted by the affinity terms of these classes."""
        return self._counts.of(pod_classes, self.table().rows)

    def pinned(self) -> PinnedPods:
        """Return the pods that come back to the same node; the same object while none changes."""
        if self._pinned_pods is None:
            self._pinned_pods = PinnedPods(tuple(self._pinned.values()))
        return self._pinned_pods

    def held(self) -> dict[int, IntArray]:
        """Return the resources that pods of each priority use on all nodes.

        Linear in classes of pods, in nodes, and in pods on missing nodes.
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
        """Note the node of a pinned pod; None if the pod is not pinned, or gone."""
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
        self._table = table = NodeTable(
            self._nodes.values(), self._device_classes, self._asked_of_devices
        )
        self._used = np.zeros((len(table), len(table.resources)), dtype=np.int64)
        self._stale = False
        same_axis = table.resources == old.resources
        for row, node in enumerate(table.nodes):
            if same_axis and node.name in old.rows:
                self._used[row] = used[old.rows[node.name]]
            else:
                for use in self._pods.get(node.name, {}).values():
                    self._used[row] += table.vector(use.pod_class.requests)


# Waiting pods for which room is reserved, and nominations that the API server has not shown yet.


class _Kept(NamedTuple):
    """A pod with its gang and its sort key: each change sorts thousands of these."""

    pod: Pod
    gang: GangKey
    order: tuple[object, ...]


class Nominator:
    """The nominated pods, and assumed nominations; "" is an assumed removal."""

    def __init__(self) -> None:
        self._assumed: dict[str, str] = {}
        self._pods: dict[str, _Kept] = {}
        # All of them in order, reused while they and these priorities stay the same.
        self._ordered: tuple[Nominated, ...] | None = None
        self._priorities: dict[GangKey, int] = {}

    def assume(self, uid: str, node: str) -> None:
        """Assume a nomination, or with "" its removal, before the API server shows it."""
        self._assumed[uid] = node

    def forget(self, uid: str) -> None:
        """Drop all assumptions about a pod."""
        self._assumed.pop(uid, None)

    def seen(self, pod: Pod) -> Pod:
        """Return a waiting pod with its assumed nomination, if it has one."""
        node = self._assumed.get(pod.uid)
        if node is None:
            return pod
        if pod.nominated == node:
            del self._assumed[pod.uid]
            return pod
        # The pod is older than our own write, which the watch has not shown yet.
        return revised(pod, nominated=node)

    def note(self, uid: str, pod: Pod | None, gang: GangKey | None) -> bool:
        """Note the present state of a pod; None if it is gone.

        Return whether reserved room becomes free without being taken by the pod.
        """
        known = self._pods.pop(uid, None)
        if pod is not None and gang is not None and pod.nominated and pod.living and not pod.node:
            if known is not None and pod is known.pod and gang == known.gang:
                self._pods[uid] = known
            else:
                self._pods[uid] = _Kept(pod, gang, (gang, rank_key(pod), uid))
                self._ordered = None
        elif known is not None:
            self._ordered = None
        if known is None:
            return False
        return pod is None or not pod.living or (pod.node or pod.nominated) != known.pod.nominated

    def gangs_on(self, node: str) -> Iterator[GangKey]:
        """Yield the gangs with reserved room on a node."""
        return (each.gang for each in self._pods.values() if each.pod.nominated == node)

    def uids_on(self, node: str) -> Iterator[str]:
        """Yield the uids of the pods with reserved room on a node."""
        return (uid for uid, each in self._pods.items() if each.pod.nominated == node)

    def all(self, infos: Mapping[GangKey, GangInfo]) -> tuple[Nominated, ...]:
        """Return all nominated pods with the priorities of their gangs, in order of their gangs."""
        gangs = {each.gang for each in self._pods.values()}
        priorities = {gang: infos[gang].observed.priority for gang in gangs}
        if self._ordered is None or priorities != self._priorities:
            found = sorted(self._pods.values(), key=_order)
            self._ordered = tuple(
                Nominated(each.pod, each.gang, priorities[each.gang]) for each in found
            )
            self._priorities = priorities
        return self._ordered


def _order(each: _Kept) -> tuple[object, ...]:
    return each.order


# Refusals of kubelets: similar pods do not go to the same node again at once. A kubelet may refuse
# a pod for which the API shows room: it cannot align the devices, or it runs pods that only it
# knows. The controller then creates another pod, which would be bound there again.

REFUSED_SECONDS: Final = 600
"""How long a node gets no pods like one that it refused, unless a pod leaves the node earlier."""

MOST_NEWS: Final = 100
"""The most refusals that are reported at once: a replica that does not lead reports none."""


class Refusal(NamedTuple):
    """A pod that a kubelet has rejected, and its gang."""

    pod: Pod
    gang: GangKey


class RefusedShapes:
    """The requests that nodes have refused recently. Costs nothing if there are none.

    `news` are the refusals that were not reported yet.
    """

    def __init__(self) -> None:
        self.news: deque[Refusal] = deque(maxlen=MOST_NEWS)
        self._until: dict[str, dict[Requests, tuple[int, str]]] = {}
        self._changed: set[str] = set()

    def note(self, pod: Pod, node: str, gang: GangKey | None) -> None:
        """Note that the kubelet of a node has refused a pod."""
        # If its status has no time, the time when it is seen counts.
        at = pod.started_at or pod.scheduled_at
        until = at + REFUSED_SECONDS if at else 0
        shapes = self._until.get(node, {})
        shapes = {shape: each for shape, each in shapes.items() if not 0 < each[0] <= at}
        self._until[node] = {**shapes, pod.pod_class.requests: (until, pod.refused)}
        self._changed.add(node)
        if gang is not None:
            self.news.append(Refusal(pod, gang))

    def left(self, node: str) -> None:
        """Note that a pod has left a node, which changes the free room."""
        if self._until and self._until.pop(node, None) is not None:
            self._changed.add(node)

    def settle(self, now: int) -> set[str]:
        """Return the nodes whose refusals have changed. `now` is in seconds."""
        for node in [*self._until]:
            shapes = {
                shape: (until or now + REFUSED_SECONDS, why)
                for shape, (until, why) in self._until[node].items()
                if not 0 < until <= now
            }
            if len(shapes) < len(self._until[node]):
                self._changed.add(node)
            self._until[node] = shapes
            if not shapes:
                del self._until[node]
        changed, self._changed = self._changed, set()
        return changed

    def next_end(self) -> int | None:
        """Return when the first refusal ends, in seconds; None if there are none."""
        return min((until for until, _ in self._all()), default=None)

    def on(self, node: Node) -> Node:
        """Return a node with the requests that its kubelet refuses."""
        shapes = self._until.get(node.name, {})
        refused = tuple(sorted((shape, why) for shape, (_, why) in shapes.items()))
        return node if node.refused == refused else replace(node, refused=refused)

    def is_in_force(self, refusal: Refusal) -> bool:
        """Return whether pods with the same requests are still kept from the node."""
        return refusal.pod.pod_class.requests in self._until.get(refusal.pod.node, {})

    def _all(self) -> Iterator[tuple[int, str]]:
        for shapes in self._until.values():
            yield from shapes.values()
