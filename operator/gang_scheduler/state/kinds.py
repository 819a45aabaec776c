"""The one table of watched kinds: how each is read, and where it is kept.

Both sources, the sweep and `simulate` work through it, and a test compares the chart's ClusterRole
with it. A kind whose CRD is not installed costs one small request now and then.
"""

import functools
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR
from gang_scheduler.decode import cluster, provisioning, topology, volumes
from gang_scheduler.decode import reader as decode_reader
from gang_scheduler.decode.devices import objects as devices
from gang_scheduler.decode.events import HasUid, Sink
from gang_scheduler.decode.gangs import pod_groups
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.decode.pods import pod
from gang_scheduler.decode.pods.membership import Membership
from gang_scheduler.decode.queues import declared as unreadable_queues
from gang_scheduler.decode.queues import kueue, ours, volcano
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.decode.reader import Object, Reader, Unreadable, direct
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.decode.volumes import VolumeObject
from gang_scheduler.model.queues import Product, QueueKind
from gang_scheduler.model.refs import GangSource
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Change
from gang_scheduler.state.devices.device_cache import DeviceObject
from gang_scheduler.state.queues.declared import ByName
from gang_scheduler.state.stores import (
    DeviceClassStore,
    DeviceStore,
    GangStore,
    JobSetStore,
    JobStore,
    NamespaceStore,
    PartStore,
    PriorityClassStore,
    QueueNamerStore,
    Store,
)
from gang_scheduler.wire import cluster as node_wire
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.workloads import suspended, table
from gang_scheduler.workloads.kind import Kind as JobKind

T = TypeVar("T")
V = TypeVar("V", bound=VolumeObject)
D = TypeVar("D", bound=DeviceObject)
N = TypeVar("N", bound=HasUid)
Known = Callable[[Cache, str], T | None]
KEEP: Final = Unreadable.KEEP


class Kind(NamedTuple):
    """A row of the table.

    `known` returns the present state of an object, for kinds that need it.
    """

    reader: Reader[Any]
    store: Callable[[Cache], Store[Any]]
    known: Known[Any]


def _unknown(_: Cache, __: str) -> None:
    return None


def _kind(
    reader: Reader[T], store: Callable[[Cache], Store[T]], known: Known[T] = _unknown
) -> Kind:
    """Return a row. The reader and the store must be for the same type."""
    return Kind(reader, store, known)


def _gangs(reader: Reader[GangObject]) -> Kind:
    return _kind(reader, lambda cache: GangStore(cache.gang_queue, reader.name))


def _job(kind: JobKind, read: Callable[[Object], GangObject]) -> Kind:
    """Return the row of a kind of job."""
    gvr = kind.versions[0]
    reader = Reader(
        kind=kind.name,
        versions=kind.versions,
        read=suspended.reading(kind.name, gvr, read),
        if_unreadable=kind.if_unreadable
        or decode_reader.unreadable_workload(kind.gang_source or GangSource(kind.name), gvr),
    )
    if kind.names_queues:
        return _kind(reader, lambda cache: QueueNamerStore(cache.gang_queue, reader.name))
    if gvr == kinds.JOB_SETS:
        return _kind(
            reader,
            lambda cache: JobSetStore(
                cache.gang_queue, cache.pod_store, reader.name, cache.suspended
            ),
        )
    if gvr == kinds.JOBS:
        return _kind(
            reader,
            lambda cache: JobStore(
                cache.gang_queue, cache.evictable_pods, reader.name, cache.suspended
            ),
        )
    return _kind(reader, lambda cache: GangStore(cache.gang_queue, reader.name, cache.suspended))


def _pods(membership: Membership) -> Kind:
    return _kind(
        Reader(
            kind="Pod",
            versions=(kinds.PODS,),
            read=lambda body: pod.pod(body, membership),
            if_unreadable=lambda obj, why, known: decode_reader.unreadable_pod(
                obj, why, known, membership
            ),
            direct=direct(pod_wire.Pod, lambda source: pod.pod_from_wire(source, membership)),
        ),
        lambda cache: cache.pod_store,
        known=Cache.pod,
    )


def _trees(reader: Reader[DeclaredTopology]) -> Kind:
    def store(cache: Cache) -> PartStore[DeclaredTopology]:
        trees, group = cache.topologies, reader.gvr.group
        return PartStore(
            Change.TREES_CHANGED, trees.upsert, trees.delete, lambda: trees.uids(group)
        )

    return _kind(reader, store)


def _volumes(reader: Reader[V]) -> Kind:
    def store(cache: Cache) -> PartStore[V]:
        gvr, known = reader.gvr, cache.volumes
        return PartStore(
            Change.ROOM_FREED,
            functools.partial(known.upsert, gvr),
            functools.partial(known.delete, gvr),
            functools.partial(known.uids, gvr),
        )

    return _kind(reader, store)


def _devices(reader: Reader[D]) -> Kind:
    def store(cache: Cache) -> DeviceStore[D]:
        return DeviceStore(cache.devices, reader.gvr)

    return _kind(reader, store)


def _queues(
    kind: QueueKind, name: str, versions: tuple[GVR, ...], read: Callable[[Object], DeclaredQueue]
) -> Kind:
    # All versions have the same content, so the last one is as good as any.
    return _kind(
        Reader(
            kind=name,
            versions=versions,
            read=read,
            namespaced=False,
            if_unreadable=unreadable_queues.unreadable_queue(kind, versions[0]),
        ),
        lambda cache: PartStore(
            Change.QUEUES_CHANGED,
            cache.queues.upsert,
            cache.queues.delete,
            lambda: cache.queues.uids({kind}),
        ),
        known=lambda cache, uid: cache.queues.declared.get(uid),
    )


def _flavors(product: Product, versions: tuple[GVR, ...]) -> Kind:
    return _kind(
        Reader(
            kind="ResourceFlavor",
            versions=versions,
            read=kueue.flavor_of(product),
            namespaced=False,
        ),
        lambda cache: PartStore(
            Change.QUEUES_CHANGED,
            cache.queues.upsert_flavor,
            cache.queues.delete_flavor,
            lambda: cache.queues.flavor_uids(product),
        ),
    )


def _by_name(reader: Reader[N], objects: Callable[[Cache], ByName[Any, N]]) -> Kind:
    def store(cache: Cache) -> PartStore[N]:
        known = objects(cache)
        return PartStore(Change.QUEUES_CHANGED, known.upsert, known.delete, known.uids)

    return _kind(reader, store)


KINDS: Final = (
    _kind(
        Reader(
            kind="Node",
            versions=(kinds.NODES,),
            read=cluster.read_node,
            namespaced=False,
            direct=direct(node_wire.Node, cluster.node_from_wire),
        ),
        lambda cache: cache.node_store,
    ),
    _kind(
        Reader(
            kind="Namespace",
            versions=(kinds.NAMESPACES,),
            read=cluster.read_namespace,
            namespaced=False,
            if_unreadable=KEEP,
        ),
        lambda cache: NamespaceStore(cache.selector_matches, cache.gang_queue),
    ),
    _pods(table.MEMBERSHIP),
    _gangs(
        Reader(
            kind="PodGroup",
            versions=(kinds.POD_GROUPS,),
            read=pod_groups.pod_group_object,
            if_unreadable=decode_reader.pod_group,
        )
    ),
    _gangs(
        Reader(
            kind="PodGroup",
            versions=(kinds.SCHED_PLUGINS_POD_GROUPS,),
            read=pod_groups.pod_group_object,
            if_unreadable=decode_reader.pod_group,
        )
    ),
    _gangs(
        Reader(
            kind="PodGroup",
            versions=kinds.NATIVE_POD_GROUPS,
            read=pod_groups.native_pod_group_object,
            if_unreadable=decode_reader.native_pod_group,
            best_version_counts=True,
        )
    ),
    *(_job(each, each.read) for each in table.KINDS if each.read is not None),
    _kind(
        Reader(
            kind="PriorityClass",
            versions=(kinds.PRIORITY_CLASSES,),
            read=cluster.read_priority_class,
            namespaced=False,
            if_unreadable=KEEP,
        ),
        lambda cache: PriorityClassStore(cache.suspended),
    ),
    _kind(
        Reader(
            kind="PodDisruptionBudget",
            versions=(kinds.POD_DISRUPTION_BUDGETS,),
            read=cluster.read_budget,
            if_unreadable=KEEP,
        ),
        # If more pods may be evicted than before, there may be more room.
        lambda cache: PartStore(
            Change.ROOM_FREED,
            cache.evictable_pods.upsert_budget,
            cache.evictable_pods.delete_budget,
            cache.evictable_pods.protections.budgets.uids,
        ),
    ),
    _trees(
        Reader(
            kind="ClusterNetworkTopology",
            versions=(kinds.CLUSTER_NETWORK_TOPOLOGIES,),
            read=topology.read,
            namespaced=False,
            if_unreadable=KEEP,
        )
    ),
    # All versions have the same content, so the last one is as good as any.
    _trees(
        Reader(
            kind="Topology",
            versions=kinds.KUEUE_TOPOLOGIES,
            read=topology.read_kueue_topology,
            namespaced=False,
            if_unreadable=KEEP,
        )
    ),
    _queues(QueueKind.QUEUE, "Queue", (kinds.QUEUES,), ours.queue),
    _flavors(Product.OURS, (kinds.RESOURCE_FLAVORS,)),
    _queues(QueueKind.CLUSTER_QUEUE, "ClusterQueue", kinds.CLUSTER_QUEUES, kueue.cluster_queue),
    _queues(QueueKind.COHORT, "Cohort", kinds.COHORTS, kueue.cohort),
    _flavors(Product.KUEUE, kinds.KUEUE_RESOURCE_FLAVORS),
    _by_name(
        Reader(kind="LocalQueue", versions=kinds.LOCAL_QUEUES, read=kueue.local_queue),
        lambda cache: cache.kueue_objects.local_queues,
    ),
    _by_name(
        Reader(
            kind="WorkloadPriorityClass",
            versions=kinds.WORKLOAD_PRIORITY_CLASSES,
            read=kueue.workload_priority_class,
            namespaced=False,
        ),
        lambda cache: cache.kueue_objects.priority_classes,
    ),
    _by_name(
        Reader(
            kind="AdmissionCheck",
            versions=kinds.ADMISSION_CHECKS,
            read=kueue.admission_check,
            namespaced=False,
        ),
        lambda cache: cache.kueue_objects.admission_checks,
    ),
    _by_name(
        Reader(
            kind="ProvisioningRequestConfig",
            versions=kinds.PROVISIONING_REQUEST_CONFIGS,
            read=provisioning.config,
            namespaced=False,
        ),
        lambda cache: cache.kueue_objects.provisioning_configs,
    ),
    # All versions have the same content, so the last one is as good as any.
    _kind(
        Reader(
            kind="ProvisioningRequest",
            versions=kinds.PROVISIONING_REQUESTS,
            read=provisioning.request,
            if_unreadable=KEEP,
        ),
        lambda cache: PartStore(
            Change.GANGS_TOUCHED,
            cache.provisioning.upsert,
            cache.provisioning.delete,
            cache.provisioning.requests.uids,
        ),
    ),
    _queues(QueueKind.VOLCANO_QUEUE, "Queue", (kinds.VOLCANO_QUEUES,), volcano.queue),
    _kind(
        Reader(
            kind="DeviceClass",
            versions=(kinds.DEVICE_CLASSES,),
            read=devices.decode_class,
            namespaced=False,
        ),
        lambda cache: DeviceClassStore(cache.node_usage, cache.devices),
    ),
    _devices(
        Reader(
            kind="ResourceSlice",
            versions=(kinds.RESOURCE_SLICES,),
            read=devices.decode_slice,
            namespaced=False,
        )
    ),
    _devices(
        Reader(
            kind="DeviceTaintRule",
            versions=kinds.DEVICE_TAINT_RULES,
            read=devices.decode_taint_rule,
            namespaced=False,
        )
    ),
    _devices(
        Reader(
            kind="ResourceClaim",
            versions=(kinds.RESOURCE_CLAIMS,),
            read=devices.decode_claim,
            if_unreadable=KEEP,
        )
    ),
    _devices(
        Reader(
            kind="ResourceClaimTemplate",
            versions=(kinds.RESOURCE_CLAIM_TEMPLATES,),
            read=devices.decode_template,
        )
    ),
    _volumes(
        Reader(
            kind="PersistentVolumeClaim",
            versions=(kinds.PERSISTENT_VOLUME_CLAIMS,),
            read=volumes.claim,
        )
    ),
    _volumes(
        Reader(
            kind="PersistentVolume",
            versions=(kinds.PERSISTENT_VOLUMES,),
            read=volumes.persistent_volume,
            namespaced=False,
        )
    ),
    _volumes(
        Reader(
            kind="StorageClass",
            versions=(kinds.STORAGE_CLASSES,),
            read=volumes.storage_class,
            namespaced=False,
        )
    ),
    _volumes(
        Reader(
            kind="CSINode",
            versions=(kinds.CSI_NODES,),
            read=volumes.csi_node,
            namespaced=False,
            if_unreadable=KEEP,
        )
    ),
    _volumes(
        Reader(
            kind="CSIDriver",
            versions=(kinds.CSI_DRIVERS,),
            read=volumes.csi_driver,
            namespaced=False,
            if_unreadable=KEEP,
        )
    ),
    _volumes(
        Reader(
            kind="CSIStorageCapacity",
            versions=(kinds.CSI_STORAGE_CAPACITIES,),
            read=volumes.capacity,
        )
    ),
    _volumes(
        Reader(
            kind="VolumeAttachment",
            versions=(kinds.VOLUME_ATTACHMENTS,),
            read=volumes.volume_attachment,
            namespaced=False,
            if_unreadable=KEEP,
        )
    ),
)

QUEUES_NAMED: Final = {
    Product.KUEUE: kinds.LOCAL_QUEUES[0],
    Product.VOLCANO: kinds.VOLCANO_QUEUES,
}
"""The kind that a queue label of another product refers to.

If that kind is not installed, the label has no effect.
"""
_OF_DEVICES: Final = (
    *("ResourceSlice", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate"),
)
"""Kinds that are read only to allocate devices."""
_BY_GVR: Final = {gvr: each for each in KINDS for gvr in each.reader.versions}


def of(gvr: GVR) -> Kind:
    """Return the row of a kind, in any version."""
    return _BY_GVR[gvr]


def rows(membership: Membership) -> tuple[Kind, ...]:
    """Return the table, given the rules that find the gangs of pods."""
    return tuple(_pods(membership) if each.reader.gvr == kinds.PODS else each for each in KINDS)


def sinks(
    cache: Cache, membership: Membership = table.MEMBERSHIP
) -> list[tuple[Reader[Any], Sink[Any]]]:
    """Return how each kind is read, and its store in this cache.

    Kinds that are read only to start suspended workloads are left out if `manageJobs` does not list
    them, and kinds that are read only to allocate devices if that is off.
    """
    unused = set(table.OWNERS).difference(cache.suspended.rules.manage_jobs)
    if not cache.devices.enabled:
        unused.update(_OF_DEVICES)
    return [
        (each.reader, _CacheSink(cache, each.store(cache), each.known))
        for each in rows(membership)
        if each.reader.kind not in unused
    ]


class _CacheSink(Generic[T]):
    """The store of one kind in a cache."""

    def __init__(self, cache: Cache, store: Store[T], known: Known[T]) -> None:
        self._cache = cache
        self._store = store
        self._known = known
        self.uids = store.uids

    def upsert(self, decoded: T) -> None:
        """Add or replace an object."""
        self._cache.upsert(self._store, decoded)

    def delete(self, uid: str) -> None:
        """Forget an object."""
        self._cache.delete(self._store, uid)

    def known(self, uid: str) -> T | None:
        """Return the present state of an object."""
        return self._known(self._cache, uid)
