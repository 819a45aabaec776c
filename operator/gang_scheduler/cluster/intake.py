"""Takes watch events in: decoded, counted, and never raising, whatever an object looks like.

An exception in a handler would make Kopf drop later events of that object for minutes. So an
object that cannot be read is left out with a reason, and told to its owner. An older state than the
one that is known is no news, and is left out without a word.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gang_scheduler import telemetry
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.cluster import (
    budgets,
    declarations,
    decode,
    kueue_topologies,
    owners,
    topologies,
)
from gang_scheduler.cluster.declarations import Declaration
from gang_scheduler.cluster.peers import namespaces
from gang_scheduler.cluster.ports import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    NATIVE_POD_GROUPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
    Sink,
)
from gang_scheduler.cluster.versions import Versions
from gang_scheduler.cluster.volumes import decode as volume_decode
from gang_scheduler.cluster.wire import nodes as node_wire
from gang_scheduler.cluster.wire import pods as pod_wire

Object = Mapping[str, Any]
Broken = Callable[[str, Object, InvalidField], None]
NATIVE_VERSIONS = [resource.version for resource in NATIVE_POD_GROUPS]


class Intake:
    """Between the handlers and a sink.

    `broken` holds the uids of objects that were left out, `versions` what was seen of all.
    `on_broken` is called with the kind, the object and what is wrong.
    """

    def __init__(
        self,
        sink: Sink,
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
        self._take("Pod", event, self._pod_seen, self._pod_gone)

    def node(self, event: Object) -> None:
        """Take in an event of a node."""
        self._take("Node", event, self._node_seen, self._node_gone)

    def decoded_pod(self, change: str, source: pod_wire.Pod) -> None:
        """Take in an event of a pod without a detour. Raises InvalidField, having done nothing.

        What is wrong is then told by `pod`.
        """
        metadata = source.metadata
        if change == "DELETED":
            self.versions.gone(metadata.uid, metadata.resource_version)
            self._sink.pod_gone(metadata.uid)
        else:
            pod = decode.pod_from_wire(source)
            if not self.versions.seen(metadata.uid, metadata.resource_version):
                return
            self._sink.pod_seen(pod)
        self._count("Pod", metadata.uid)

    def decoded_node(self, change: str, source: node_wire.Node) -> None:
        """Take in an event of a node in the same way."""
        metadata = source.metadata
        if change == "DELETED":
            self.versions.gone(metadata.uid, metadata.resource_version)
            self._sink.node_gone(metadata.name, metadata.uid)
        else:
            node = decode.node_from_wire(source)
            if not self.versions.seen(metadata.uid, metadata.resource_version):
                return
            self._sink.node_seen(node)
        self._count("Node", metadata.uid)

    def pod_group(self, event: Object) -> None:
        """Take in an event of a PodGroup of the CRDs."""
        self._described("PodGroup", event, lambda obj: (declarations.pod_group(obj),))

    def native_pod_group(self, event: Object) -> None:
        """Take in an event of a PodGroup of scheduling.k8s.io.

        A server of several versions shows each object in every one: the best counts.
        """
        version = event["object"].get("apiVersion", "").rpartition("/")[2]
        rank = NATIVE_VERSIONS.index(version) if version in NATIVE_VERSIONS else 0
        if rank > self._native_rank:
            return
        self._native_rank = rank
        self._described("PodGroup", event, lambda obj: (declarations.native_pod_group(obj),))

    def job_set(self, event: Object) -> None:
        """Take in an event of a JobSet."""
        self._described("JobSet", event, owners.job_set)

    def job(self, event: Object) -> None:
        """Take in an event of a Job."""
        self._take("Job", event, self._job_seen, self._job_gone)

    def pod_disruption_budget(self, event: Object) -> None:
        """Take in an event of a PodDisruptionBudget."""
        self._take("PodDisruptionBudget", event, self._budget_seen, self._budget_gone)

    def namespace(self, event: Object) -> None:
        """Take in an event of a Namespace."""
        self._take("Namespace", event, self._namespace_seen, self._namespace_gone)

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
        self._take("ClusterNetworkTopology", event, self._topology_seen, self._topology_gone)

    def kueue_topology(self, event: Object) -> None:
        """Take in an event of a Topology of Kueue.

        A server of several versions shows each object in every one. All of them say the same, so
        whichever comes last is right.
        """
        self._take("Topology", event, self._kueue_topology_seen, self._topology_gone)

    def _take(
        self,
        kind: str,
        event: Object,
        seen: Callable[[Object], None],
        gone: Callable[[Object], None],
    ) -> None:
        obj = event["object"]
        metadata = obj.get("metadata", {})
        uid, version = metadata.get("uid", ""), str(metadata.get("resourceVersion") or "")
        if event["type"] == "DELETED":
            self.versions.gone(uid, version)
            self._count(kind, uid)
            gone(obj)
            return
        if not self.versions.seen(uid, version):
            return
        self._count(kind, uid)
        try:
            seen(obj)
        except InvalidField as error:
            # What was known before is no longer true: an object left out is left out wholly.
            gone(obj)
            self.broken.add(uid)
            telemetry.OBJECTS_BROKEN.labels(kind).inc()
            self._on_broken(kind, obj, error)

    def _count(self, kind: str, uid: str) -> None:
        telemetry.OBJECTS_SEEN.labels(kind).inc()
        self.broken.discard(uid)

    def _pod_seen(self, obj: Object) -> None:
        self._sink.pod_seen(decode.pod(obj))

    def _pod_gone(self, obj: Object) -> None:
        self._sink.pod_gone(obj["metadata"]["uid"])

    def _node_seen(self, obj: Object) -> None:
        self._sink.node_seen(decode.node(obj))

    def _node_gone(self, obj: Object) -> None:
        self._sink.node_gone(obj["metadata"]["name"], obj["metadata"]["uid"])

    def _volume(self, kind: str, resource: Resource, event: Object) -> None:
        def seen(obj: Object) -> None:
            self._sink.volume_seen(resource, volume_decode.READERS[resource](obj))

        def gone(obj: Object) -> None:
            self._sink.volume_gone(resource, obj["metadata"]["uid"])

        self._take(kind, event, seen, gone)

    def _described(
        self, kind: str, event: Object, read: Callable[[Object], Iterable[Declaration]]
    ) -> None:
        def seen(obj: Object) -> None:
            self._sink.described(_group(obj), obj["metadata"]["uid"], read(obj))

        self._take(kind, event, seen, self._undescribed)

    def _undescribed(self, obj: Object) -> None:
        self._sink.undescribed(_group(obj), obj["metadata"]["uid"])

    def _job_seen(self, obj: Object) -> None:
        self._sink.described(_group(obj), obj["metadata"]["uid"], owners.job(obj))
        self._sink.job_seen(obj["metadata"]["uid"], owners.pods_of(obj))

    def _job_gone(self, obj: Object) -> None:
        self._undescribed(obj)
        self._sink.job_seen(obj["metadata"]["uid"], None)

    def _budget_seen(self, obj: Object) -> None:
        self._sink.budget_seen(budgets.read(obj))

    def _budget_gone(self, obj: Object) -> None:
        self._sink.budget_gone(obj["metadata"]["uid"])

    def _namespace_seen(self, obj: Object) -> None:
        self._sink.namespace_seen(namespaces.read(obj))

    def _namespace_gone(self, obj: Object) -> None:
        self._sink.namespace_gone(obj["metadata"]["uid"])

    def _topology_seen(self, obj: Object) -> None:
        self._sink.topology_seen(topologies.read(obj))

    def _kueue_topology_seen(self, obj: Object) -> None:
        self._sink.topology_seen(kueue_topologies.read(obj))

    def _topology_gone(self, obj: Object) -> None:
        self._sink.topology_gone(obj["metadata"]["uid"])


def _group(obj: Object) -> str:
    return str(obj["apiVersion"].partition("/")[0])
