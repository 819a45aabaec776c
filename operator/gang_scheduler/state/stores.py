"""Stores of kinds, in the form that the table of kinds needs: put in, forget, list.

Each method that changes something returns the effect on gangs.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import Generic, Protocol, TypeVar

from gang_scheduler.api.kinds import DEVICE_CLASSES, GVR
from gang_scheduler.decode.cluster import DeclaredNamespace, PriorityClass
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.model.devices import DeviceClass
from gang_scheduler.model.extended_resources import DEVICE_CLASS_RESOURCE
from gang_scheduler.model.nodes import Node
from gang_scheduler.state.changes import Change
from gang_scheduler.state.devices.device_cache import DeviceCache, DeviceObject
from gang_scheduler.state.evictable_pods import EvictablePods
from gang_scheduler.state.failures import DegradedGangs, FailedNodes
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.nodes import NodeUsage, Nominator, RefusedShapes
from gang_scheduler.state.pod_affinity import SelectorMatches
from gang_scheduler.state.pods import PodStore
from gang_scheduler.state.queues.usage import QueueUsageStore
from gang_scheduler.state.suspended.workloads import SuspendedWorkloads
from gang_scheduler.state.topologies import Topologies

T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")
D = TypeVar("D", bound=DeviceObject)


class Store(Protocol[T_contra]):
    """The known objects of one kind."""

    def upsert(self, decoded: T_contra, /) -> Change:
        """Add or replace an object."""

    def delete(self, uid: str, /) -> Change:
        """Forget an object, if it is known."""

    def uids(self) -> Collection[str]:
        """Return the uids of all objects."""


class PartStore(Generic[T]):
    """The objects of a kind that one part of the cache keeps.

    The `upsert` and `delete` of that part return whether gangs may be affected: then the effect is
    `change`.
    """

    def __init__(
        self,
        change: Change,
        upsert: Callable[[T], bool],
        delete: Callable[[str], bool],
        uids: Callable[[], Collection[str]],
    ) -> None:
        self._change = change
        self._upsert = upsert
        self._delete = delete
        self.uids = uids

    def upsert(self, decoded: T) -> Change:
        """Add or replace an object."""
        return self._change if self._upsert(decoded) else Change.NOTHING

    def delete(self, uid: str) -> Change:
        """Forget an object."""
        return self._change if self._delete(uid) else Change.NOTHING


class NodeStore:
    """Nodes."""

    def __init__(
        self,
        *,
        node_usage: NodeUsage,
        pod_store: PodStore,
        gang_queue: GangQueue,
        nominator: Nominator,
        selector_matches: SelectorMatches,
        topologies: Topologies,
        queue_usage: QueueUsageStore,
        failed_nodes: FailedNodes,
        degraded: DegradedGangs,
        refused_shapes: RefusedShapes,
    ) -> None:
        self._refused_shapes = refused_shapes
        self._failed_nodes = failed_nodes
        self._degraded = degraded
        self._queue_usage = queue_usage
        self._node_usage = node_usage
        self._pod_store = pod_store
        self._gang_queue = gang_queue
        self._nominator = nominator
        self._selector_matches = selector_matches
        self._topologies = topologies

    def upsert(self, node: Node) -> Change:
        """Add or replace a node. Gangs on it may be in another domain now."""
        node = self._refused_shapes.on(node)
        if not self._node_usage.upsert_node(node):
            return Change.NOTHING
        self._failed_nodes.upsert(node)
        if self._failed_nodes.is_suspect(node.name):
            self._degraded.failing(node.name, self._pod_store.gangs_on(node.name))
        self._topologies.nodes_changed()
        self._touch_charged_on(node.name)
        self._gang_queue.changed |= self._pod_store.gangs_on(node.name)
        return Change.ROOM_FREED

    def settle_refusals(self, now: int) -> Change:
        """Apply new refusals of kubelets, and drop expired ones; `now` is in seconds."""
        changes = set()
        for name in self._refused_shapes.settle(now):
            node = self._node_usage.node(name)
            if node is not None:
                changes.add(self.upsert(node))
        return Change.ROOM_FREED if Change.ROOM_FREED in changes else Change.NOTHING

    def delete(self, uid: str) -> Change:
        """Forget a node. A later node of its name is not affected."""
        name = self._node_usage.uids.get(uid)
        if name is None:
            return Change.NOTHING
        self._node_usage.delete_node(name)
        if self._node_usage.uids_on(name):
            # A replica that does not lead settles nothing, but nodes come and go there, too.
            self._failed_nodes.forget_empty(lambda node: bool(self._node_usage.uids_on(node)))
            self._failed_nodes.gone(name)
            self._degraded.failing(name, self._pod_store.gangs_on(name))
        else:
            self._failed_nodes.forget(name)
        self._touch_charged_on(name)
        self._topologies.nodes_changed()
        lost = tuple(self._nominator.gangs_on(name))
        self._gang_queue.nominations_lost(lost)
        if self._selector_matches:
            # An unused domain may have disappeared that had made a spread constraint fail.
            return Change.ROOM_FREED
        return Change.GANGS_TOUCHED if lost else Change.NOTHING

    def uids(self) -> Collection[str]:
        """Return the uids of all nodes."""
        return self._node_usage.uids.keys()

    def _touch_charged_on(self, node: str) -> None:
        """Charge pods on a node again by its labels, including pods with reserved room there."""
        there, reserved = self._node_usage.uids_on(node), self._nominator.uids_on(node)
        self._queue_usage.touch_all(chain(there, reserved))


class GangStore:
    """The objects of a kind that describe gangs. `kind` is the kind's CRD name."""

    def __init__(
        self, gang_queue: GangQueue, kind: str, suspended: SuspendedWorkloads | None = None
    ) -> None:
        self._gang_queue = gang_queue
        self._kind = kind
        self._suspended = suspended

    def upsert(self, described: GangObject) -> Change:
        """Store the gangs that an object describes."""
        self._gang_queue.upsert_gang_specs(self._kind, described.uid, described.gang_specs)
        if described.readable:
            self._gang_queue.upsert_misplaced(described.uid, described.misplaced)
        if described.workload:
            self._gang_queue.upsert_workload(
                described.uid, described.workload, described.queue_request
            )
            if described.readable:
                self._gang_queue.upsert_parts(described.uid, described.parts)
        if self._suspended is not None and described.readable:
            self._suspended.upsert(described)
        return Change.GANGS_TOUCHED

    def delete(self, uid: str) -> Change:
        """Forget an object."""
        if self._suspended is not None:
            self._suspended.delete(uid)
        self._gang_queue.delete_gang_specs(self._kind, uid)
        self._gang_queue.upsert_misplaced(uid, None)
        self._gang_queue.delete_workload(uid)
        self._gang_queue.upsert_parts(uid, ())
        return Change.GANGS_TOUCHED

    def uids(self) -> Collection[str]:
        """Return the uids of all objects, whether or not they describe a gang."""
        return self._gang_queue.objects(self._kind).keys()


class QueueNamerStore(GangStore):
    """Objects that only name the queue of their pods. Most of them name none."""

    def __init__(self, gang_queue: GangQueue, kind: str) -> None:
        super().__init__(gang_queue, kind)
        self._naming: set[str] = set()

    def upsert(self, described: GangObject) -> Change:
        """Store the queue that an object names for its pods."""
        if described.workload:
            self._naming.add(described.uid)
            return super().upsert(described)
        change = self.delete(described.uid) if described.uid in self._naming else Change.NOTHING
        self._gang_queue.upsert_gang_specs(self._kind, described.uid, ())
        return change

    def delete(self, uid: str) -> Change:
        """Forget an object."""
        self._naming.discard(uid)
        return super().delete(uid)


class JobSetStore(GangStore):
    """JobSets; the pods of some are gangs by default."""

    def __init__(
        self, gang_queue: GangQueue, pod_store: PodStore, kind: str, suspended: SuspendedWorkloads
    ) -> None:
        super().__init__(gang_queue, kind, suspended)
        self._pod_store = pod_store

    def upsert(self, described: GangObject) -> Change:
        """Store the gangs that a JobSet declares, and the gangs of its pods."""
        change = super().upsert(self._pod_store.train_jobs.chosen(described))
        found = self._pod_store.settle(self._pod_store.train_jobs.upsert(described))
        return found if found is Change.ROOM_FREED else change

    def delete(self, uid: str) -> Change:
        """Forget a JobSet."""
        self._pod_store.train_jobs.delete(uid)
        return super().delete(uid)


class JobStore(GangStore):
    """Jobs, which describe gangs, and may fail for good if their pods are evicted."""

    def __init__(
        self,
        gang_queue: GangQueue,
        evictable_pods: EvictablePods,
        kind: str,
        suspended: SuspendedWorkloads,
    ) -> None:
        super().__init__(gang_queue, kind, suspended)
        self._jobs = gang_queue
        self._evictable_pods = evictable_pods

    def upsert(self, described: GangObject) -> Change:
        """Store a Job's gang and pods, and how it counts evictions."""
        change = super().upsert(described)
        if not described.readable:
            return change
        self._jobs.upsert_job(described.uid, described.pods)
        self._jobs.upsert_run_time(described.uid, described.run_time, described.run_time_problem)
        self._jobs.job_failed(described.uid, described.failed_gang)
        freed = self._evictable_pods.upsert_job(described.uid, described.failures)
        return Change.ROOM_FREED if freed else change

    def delete(self, uid: str) -> Change:
        """Forget a Job."""
        self._jobs.upsert_job(uid, None)
        self._jobs.job_gone(uid)
        freed = self._evictable_pods.upsert_job(uid, None)
        change = super().delete(uid)
        return Change.ROOM_FREED if freed else change


class NamespaceStore:
    """Namespaces. If their labels change, selectors of pods and queues may match others."""

    def __init__(self, selector_matches: SelectorMatches, gang_queue: GangQueue) -> None:
        self._selector_matches = selector_matches
        self._gang_queue = gang_queue

    def upsert(self, declared: DeclaredNamespace) -> Change:
        """Add or replace a namespace."""
        namespaces = self._selector_matches.namespaces
        in_use = self._gang_queue.queues.names.in_use
        is_news = namespaces.says_else if in_use else namespaces.names_another
        matters = is_news(declared)
        change = _freed(self._selector_matches.upsert_namespace(declared))
        if not matters:
            return change
        self._gang_queue.queues_changed()
        return Change.ROOM_FREED if change is Change.ROOM_FREED else Change.GANGS_TOUCHED

    def delete(self, uid: str) -> Change:
        """Forget a namespace."""
        return _freed(self._selector_matches.delete_namespace(uid))

    def uids(self) -> Collection[str]:
        """Return the uids of all namespaces."""
        return self._selector_matches.namespaces.uids


class PriorityClassStore:
    """PriorityClasses: pods get their priority from the API server, suspended workloads do not."""

    def __init__(self, suspended: SuspendedWorkloads) -> None:
        self._suspended = suspended

    def upsert(self, found: PriorityClass) -> Change:
        """Add or replace a PriorityClass."""
        if self._suspended.priorities.upsert(found):
            self._suspended.priorities_changed()
        return Change.NOTHING

    def delete(self, uid: str) -> Change:
        """Forget a PriorityClass."""
        if self._suspended.priorities.delete(uid):
            self._suspended.priorities_changed()
        return Change.NOTHING

    def uids(self) -> Collection[str]:
        """Return the uids of all PriorityClasses."""
        return self._suspended.priorities.by_uid.keys()


def _freed(more: bool) -> Change:  # noqa: FBT001 - the answer of a part.
    return Change.ROOM_FREED if more else Change.NOTHING


class DeviceStore(Generic[D]):
    """The objects of one kind of `resource.k8s.io`."""

    def __init__(self, devices: DeviceCache, gvr: GVR) -> None:
        self._devices = devices
        self._gvr = gvr

    def upsert(self, found: D) -> Change:
        """Add or replace an object."""
        return self._devices.upsert(self._gvr, found)

    def delete(self, uid: str) -> Change:
        """Forget an object."""
        return self._devices.delete(self._gvr, uid)

    def uids(self) -> Collection[str]:
        """Return the uids of all objects."""
        return self._devices.uids(self._gvr)


class DeviceClassStore:
    """DeviceClasses. If several have one resource, the youngest counts, then the first by name."""

    def __init__(self, node_usage: NodeUsage, devices: DeviceCache) -> None:
        self._node_usage = node_usage
        self._devices = devices

    def upsert(self, found: DeviceClass) -> Change:
        """Add or replace a DeviceClass."""
        before = self._devices.classes.get(found.key)
        self._devices.upsert(DEVICE_CLASSES, found)
        return Change.NOTHING if before == found else self._changed()

    def delete(self, uid: str) -> Change:
        """Forget a DeviceClass."""
        is_known = uid in self.uids()
        self._devices.delete(DEVICE_CLASSES, uid)
        return self._changed() if is_known else Change.NOTHING

    def uids(self) -> Collection[str]:
        """Return the uids of all DeviceClasses."""
        return self._devices.uids(DEVICE_CLASSES)

    def _changed(self) -> Change:
        oldest_first = sorted(
            sorted(self._devices.classes, key=lambda each: each.name, reverse=True),
            key=lambda each: each.created,
        )
        offered = {name: each.name for each in oldest_first for name in _resources(each)}
        self._node_usage.offer(offered)
        self._devices.offer(offered)
        # Gangs that wait for such a resource now have another reason.
        return Change.ROOM_FREED


def _resources(found: DeviceClass) -> Iterator[str]:
    """Yield the names by which containers may request the devices of a class."""
    yield f"{DEVICE_CLASS_RESOURCE}{found.name}"
    if found.extended_resource:
        yield found.extended_resource
