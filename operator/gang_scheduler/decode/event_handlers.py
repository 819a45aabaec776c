"""Takes watch events in: decoded, counted, and never raising, whatever an object looks like.

An exception in a handler would make Kopf drop later events of that object for minutes. So an
object that cannot be read is left out with a reason, and told to its owner; `unreadable` says what
still holds of it. An older state than the one that is known is no news, and is left out without a
word.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog

from gang_scheduler import telemetry
from gang_scheduler.api.kinds import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    GVR,
    JOBS,
    NATIVE_POD_GROUPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import (
    budgets,
    fields,
    kueue_topologies,
    namespaces,
    nodes,
    topologies,
    unreadable,
)
from gang_scheduler.decode import volumes as volume_decode
from gang_scheduler.decode.gangs import gang_specs, membership, workloads
from gang_scheduler.decode.gangs.gang_specs import GangSpec
from gang_scheduler.decode.pods import pod as pod_decode
from gang_scheduler.decode.resource_versions import Versions
from gang_scheduler.decode.sink import StateSink
from gang_scheduler.decode.unreadable import Identity
from gang_scheduler.wire import nodes as node_wire
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.metadata import Identified

Object = Mapping[str, Any]
Broken = Callable[[str, Object, InvalidField], None]
LeftOut = Callable[[Object, InvalidField], None]
LIMITING = frozenset({CSI_NODES, CSI_DRIVERS, VOLUME_ATTACHMENTS})
"""What is known of them only ever keeps pods away from nodes."""
log = structlog.get_logger()
NATIVE_VERSIONS = [gvr.version for gvr in NATIVE_POD_GROUPS]


class EventHandlers:
    """Between the handlers and a sink.

    `broken` holds the uids of objects that were left out, `versions` what was seen of all.
    `on_broken` is called with the kind, the object and what is wrong.
    """

    def __init__(
        self,
        sink: StateSink,
        on_broken: Broken = lambda *_: None,
    ) -> None:
        self._sink = sink
        self._on_broken = on_broken
        self.broken: set[str] = set()
        self.versions = Versions()
        self.start_over()

    def start_over(self) -> None:
        """Expect native PodGroups in other versions: the API server may be another by now."""
        self._native_rank = len(NATIVE_VERSIONS)

    def missing(self, uid: str) -> None:
        """Let no older state of an object in that a list has no more."""
        self.versions.missing(uid)
        self.broken.discard(uid)

    def pod(self, event: Object) -> None:
        """Take in an event of a pod."""
        self._take("Pod", event, self._upsert_pod, self._delete_pod, self._pod_left_out)

    def node(self, event: Object) -> None:
        """Take in an event of a node."""
        self._take("Node", event, self._upsert_node, self._delete_node)

    def decoded_pod(self, change: str, source: pod_wire.Pod) -> None:
        """Take in an event of a pod without a detour. Raises InvalidField, having done nothing.

        What is wrong is then told by `pod`.
        """
        metadata = source.metadata
        unreadable.check(Identity(metadata.uid, metadata.namespace, metadata.name))
        if change == "DELETED":
            self.versions.gone(metadata.uid, metadata.resource_version)
            self._sink.delete_pod(metadata.uid)
        else:
            pod = pod_decode.pod_from_wire(source)
            if not self.versions.seen(metadata.uid, metadata.resource_version):
                return
            self._sink.upsert_pod(pod)
        self._count("Pod", metadata.uid)

    def decoded_node(self, change: str, source: node_wire.Node) -> None:
        """Take in an event of a node in the same way."""
        metadata = source.metadata
        unreadable.check(Identity(metadata.uid, metadata.namespace, metadata.name))
        if change == "DELETED":
            self.versions.gone(metadata.uid, metadata.resource_version)
            self._sink.delete_node(metadata.name, metadata.uid)
        else:
            node = nodes.node_from_wire(source)
            if not self.versions.seen(metadata.uid, metadata.resource_version):
                return
            self._sink.upsert_node(node)
        self._count("Node", metadata.uid)

    def pod_group(self, event: Object) -> None:
        """Take in an event of a PodGroup of the CRDs."""
        self._pod_group(membership.POD_GROUP.name, event, gang_specs.pod_group)

    def native_pod_group(self, event: Object) -> None:
        """Take in an event of a PodGroup of scheduling.k8s.io.

        A server of several versions shows each object in every one: the best counts.
        """
        version = str(event["object"].get("apiVersion", "")).rpartition("/")[2]
        rank = NATIVE_VERSIONS.index(version) if version in NATIVE_VERSIONS else 0
        if rank > self._native_rank:
            return
        self._native_rank = rank
        self._pod_group(membership.NATIVE.name, event, gang_specs.native_pod_group)

    def job_set(self, event: Object) -> None:
        """Take in an event of a JobSet."""
        self._take("JobSet", event, self._upsert_job_set, self._delete_gang_specs, _keep)

    def job(self, event: Object) -> None:
        """Take in an event of a Job."""
        self._take("Job", event, self._upsert_job, self._delete_job, self._job_left_out)

    def pod_disruption_budget(self, event: Object) -> None:
        """Take in an event of a PodDisruptionBudget."""
        seen, gone = self._upsert_budget, self._delete_budget
        self._take("PodDisruptionBudget", event, seen, gone, _keep)

    def namespace(self, event: Object) -> None:
        """Take in an event of a Namespace."""
        self._take("Namespace", event, self._upsert_namespace, self._delete_namespace, _keep)

    def persistent_volume_claim(self, event: Object) -> None:
        """Take in an event of a PersistentVolumeClaim."""
        self._volume("PersistentVolumeClaim", PERSISTENT_VOLUME_CLAIMS, event)

    def persistent_volume(self, event: Object) -> None:
        """Take in an event of a PersistentVolume."""
        self._volume("PersistentVolume", PERSISTENT_VOLUMES, event)

    def storage_class(self, event: Object) -> None:
        """Take in an event of a StorageClass."""
        self._volume("StorageClass", STORAGE_CLASSES, event)

    def csi_node(self, event: Object) -> None:
        """Take in an event of a CSINode."""
        self._volume("CSINode", CSI_NODES, event)

    def csi_driver(self, event: Object) -> None:
        """Take in an event of a CSIDriver."""
        self._volume("CSIDriver", CSI_DRIVERS, event)

    def csi_storage_capacity(self, event: Object) -> None:
        """Take in an event of a CSIStorageCapacity."""
        self._volume("CSIStorageCapacity", CSI_STORAGE_CAPACITIES, event)

    def volume_attachment(self, event: Object) -> None:
        """Take in an event of a VolumeAttachment."""
        self._volume("VolumeAttachment", VOLUME_ATTACHMENTS, event)

    def topology(self, event: Object) -> None:
        """Take in an event of a ClusterNetworkTopology."""
        seen, gone = self._upsert_topology, self._delete_topology
        self._take("ClusterNetworkTopology", event, seen, gone, _keep)

    def kueue_topology(self, event: Object) -> None:
        """Take in an event of a Topology of Kueue.

        A server of several versions shows each object in every one. All of them say the same, so
        whichever comes last is right.
        """
        self._take("Topology", event, self._upsert_kueue_topology, self._delete_topology, _keep)

    def _take(
        self,
        kind: str,
        event: Object,
        seen: Callable[[Object], None],
        gone: Callable[[Object], None],
        left_out: LeftOut | None = None,
    ) -> None:
        """Take in an event. `left_out` says what becomes of what is known of an unreadable object.

        Without it, an object that is left out is left out wholly.
        """
        obj = event["object"]
        found = unreadable.identity(obj)
        if event["type"] == "DELETED":
            self._deleted(kind, obj, found, gone)
            return
        if found.uid and not self.versions.seen(found.uid, found.version):
            return
        self._count(kind, found.uid)
        try:
            _check(event, found)
            seen(obj)
        except InvalidField as error:
            self._left_out(kind, obj, error, left_out or (lambda each, _: gone(each)))
        except Exception as error:
            # A bug that one object brings out must not keep later ones away.
            log.exception("object_not_taken_in", kind=kind, uid=found.uid)
            why = InvalidField("the object", None, f"cannot be taken in: {error!r}")
            self._left_out(kind, obj, why, left_out or (lambda each, _: gone(each)))

    def _deleted(
        self, kind: str, obj: Object, found: Identity, gone: Callable[[Object], None]
    ) -> None:
        self._count(kind, found.uid)
        if found.uid:
            self.versions.gone(found.uid, found.version)
            gone(obj)

    def _left_out(self, kind: str, obj: Object, why: InvalidField, left_out: LeftOut) -> None:
        telemetry.OBJECTS_BROKEN.labels(kind).inc()
        found = unreadable.identity(obj)
        if found.uid:
            self.broken.add(found.uid)
            left_out(obj, why)
        self._on_broken(kind, obj, why)

    def _count(self, kind: str, uid: str) -> None:
        telemetry.OBJECTS_SEEN.labels(kind).inc()
        self.broken.discard(uid)

    def _upsert_pod(self, obj: Object) -> None:
        self._sink.upsert_pod(pod_decode.pod(obj))

    def _pod_left_out(self, obj: Object, _: InvalidField) -> None:
        uid = obj["metadata"]["uid"]
        counted = unreadable.pod(obj, self._sink.pod(uid))
        if counted is None:
            self._sink.delete_pod(uid)
        else:
            self._sink.upsert_pod(counted)

    def _delete_pod(self, obj: Object) -> None:
        self._sink.delete_pod(obj["metadata"]["uid"])

    def _upsert_node(self, obj: Object) -> None:
        self._sink.upsert_node(nodes.node(obj))

    def _delete_node(self, obj: Object) -> None:
        found = unreadable.identity(obj)
        self._sink.delete_node(found.name, found.uid)

    def _volume(self, kind: str, gvr: GVR, event: Object) -> None:
        def seen(obj: Object) -> None:
            self._sink.upsert_volume(gvr, volume_decode.READERS[gvr](obj))

        def gone(obj: Object) -> None:
            self._sink.delete_volume(gvr, obj["metadata"]["uid"])

        self._take(kind, event, seen, gone, _keep if gvr in LIMITING else None)

    def _pod_group(self, source: str, event: Object, read: Callable[[Object], GangSpec]) -> None:
        def left_out(obj: Object, why: InvalidField) -> None:
            self._upsert_gang_specs(obj, (unreadable.pod_group(obj, source, why),))

        def seen(obj: Object) -> None:
            self._upsert_gang_specs(obj, (read(obj),))

        self._take("PodGroup", event, seen, self._delete_gang_specs, left_out)

    def _upsert_gang_specs(self, obj: Object, declared: Iterable[GangSpec]) -> None:
        self._sink.upsert_gang_specs(_group(obj), obj["metadata"]["uid"], declared)

    def _upsert_job_set(self, obj: Object) -> None:
        self._upsert_gang_specs(obj, workloads.job_set(obj))

    def _delete_gang_specs(self, obj: Object) -> None:
        self._sink.delete_gang_specs(_group(obj), obj["metadata"]["uid"])

    def _upsert_job(self, obj: Object) -> None:
        self._upsert_gang_specs(obj, workloads.job(obj))
        self._sink.upsert_job(obj["metadata"]["uid"], workloads.pods_of(obj))

    def _job_left_out(self, obj: Object, why: InvalidField) -> None:
        self._upsert_gang_specs(obj, (unreadable.job(obj, JOBS, why),))

    def _delete_job(self, obj: Object) -> None:
        self._delete_gang_specs(obj)
        self._sink.upsert_job(obj["metadata"]["uid"], None)

    def _upsert_budget(self, obj: Object) -> None:
        self._sink.upsert_budget(budgets.read(obj))

    def _delete_budget(self, obj: Object) -> None:
        self._sink.delete_budget(obj["metadata"]["uid"])

    def _upsert_namespace(self, obj: Object) -> None:
        self._sink.upsert_namespace(namespaces.read(obj))

    def _delete_namespace(self, obj: Object) -> None:
        self._sink.delete_namespace(obj["metadata"]["uid"])

    def _upsert_topology(self, obj: Object) -> None:
        self._sink.upsert_topology(topologies.read(obj))

    def _upsert_kueue_topology(self, obj: Object) -> None:
        self._sink.upsert_topology(kueue_topologies.read(obj))

    def _delete_topology(self, obj: Object) -> None:
        self._sink.delete_topology(obj["metadata"]["uid"])


def _group(obj: Object) -> str:
    return str(obj.get("apiVersion", "")).partition("/")[0]


def _check(event: Object, found: Identity) -> None:
    """Raise InvalidField for an object that no decoder read, or that is not told from others."""
    if (why := event.get("unreadable")) is not None:
        raise why
    fields.read(event["object"], Identified)
    unreadable.check(found)


def _keep(_: Object, __: InvalidField) -> None:
    """Keep what is known of an object: without it, more would be allowed than with it."""
