"""The cluster of the scripted hour: what users and administrators create, and what kubelets do."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from gang_scheduler.api import annotations
from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, GVR, NODES, POD_GROUPS, PODS
from gang_scheduler.client.fake.cluster import SERVED, Document, FakeCluster
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.state import kinds
from monitoring.hour.clock import Clock
from support import api_objects, builders
from support.cache_feeding import gvr_of

NAMESPACE: Final = builders.NAMESPACE
GPU: Final = "nvidia.com/gpu"
KUBELET: Final = "hour.example.com/kubelet"
STARTS_SECONDS, ENDS_SECONDS = 1, 25
"""How long a kubelet takes to start a pod, and to end one that is deleted."""
LAYERS: Final = (
    {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
    {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["block"]},
    {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
)
Text = Mapping[str, str]
NOTHING: Final[Text] = {}


class Cluster:
    """Objects of all kinds, and the kubelets. Pods whose names are in `hangs` do not end."""

    def __init__(self, clock: Clock) -> None:
        watched = {each.reader.gvr for each in kinds.KINDS}
        self.objects = FakeCluster({*SERVED, *watched})
        self.hangs: set[str] = set()
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()
        self.objects.watchers.append(self._hear)

    def put(self, body: Mapping[str, Any]) -> None:
        """Create or replace an object."""
        self.objects.put(gvr_of(body), body)

    def topology(self) -> None:
        """Create the tree of nodes."""
        self.objects.put(
            CLUSTER_NETWORK_TOPOLOGIES,
            {
                "apiVersion": "scheduling.koordinator.sh/v1alpha1",
                "kind": "ClusterNetworkTopology",
                "metadata": {"name": "default"},
                "spec": {"networkTopologySpec": list(LAYERS)},
            },
        )

    def node(self, name: str, block: str, offered: Text, pool: str = "", **spec: Any) -> None:
        """Add a node of a block, or of none."""
        place = {"spine": "s0", "block": block} if block else {}
        labels = {**place, "pool": pool, "kubernetes.io/hostname": name}
        room = {"pods": "110", **offered}
        body = api_objects.node_body(name, allocatable=room, metadata={"labels": labels}, **spec)
        self.objects.put(NODES, body)

    def queue(self, name: str, **spec: Any) -> None:
        """Add a queue."""
        metadata = {"name": name, "uid": f"uid-{name}"}
        version = "py-gang-scheduler.io/v1alpha1"
        self.put({"apiVersion": version, "kind": "Queue", "metadata": metadata, "spec": spec})

    def pod_group(
        self, name: str, least: int, queue: str = "", says: Text = NOTHING, **spec: Any
    ) -> None:
        """Add a PodGroup; `says` are its annotations."""
        metadata = {
            "labels": {annotations.QUEUE: queue} if queue else {},
            "annotations": dict(says),
            "creationTimestamp": self.now(),
        }
        own = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}"}
        body = api_objects.pod_group_body(name, min_member=least, metadata=own | metadata, **spec)
        self.objects.put(POD_GROUPS, body)

    def members(
        self, gang: str, numbers: Sequence[int], asks: Mapping[str, int], **spec: Any
    ) -> None:
        """Create members of a gang that ask for so much each."""
        amounts = {name: str(amount) for name, amount in asks.items()}
        for number in numbers:
            metadata = {
                "name": f"{gang}-{number}",
                "namespace": NAMESPACE,
                "uid": f"uid-{gang}-{number}-{self.now()}",
                "labels": {builders.POD_GROUP_LABEL: gang},
                "creationTimestamp": self.now(),
                "finalizers": [KUBELET],
            }
            containers = [api_objects.container(requests=amounts, limits=amounts)]
            body = api_objects.pod_body(metadata=metadata, containers=containers, **spec)
            self.objects.put(PODS, body)

    def gang(
        self,
        name: str,
        pods: int,
        asks: Mapping[str, int],
        queue: str = "",
        says: Text = NOTHING,
        **spec: Any,
    ) -> None:
        """Create a rigid gang."""
        self.pod_group(name, pods, queue, says)
        self.members(name, range(pods), asks, **spec)

    def pods_of(self, gang: str) -> list[Document]:
        """Return the members of a gang."""
        every = self.objects.all(PODS)
        return [e for e in every if e["metadata"]["labels"][builders.POD_GROUP_LABEL] == gang]

    def ends(self, gang: str) -> None:
        """Let the members of a gang succeed."""
        for each in self.pods_of(gang):
            with self.objects.changing(PODS, NAMESPACE, each["metadata"]["name"]) as found:
                found["status"]["phase"] = "Succeeded"

    def delete_pod(self, name: str) -> None:
        """Delete a pod: its kubelet ends it."""
        self.objects.delete(PODS, NAMESPACE, name)

    def gone(self, name: str) -> None:
        """Let a pod be gone."""
        self.objects.remove(PODS, NAMESPACE, name)

    def fails(self, node: str) -> None:
        """Let a node not be ready any more."""
        with self.objects.changing(NODES, "", node) as found:
            condition = {"type": "Ready", "status": "False", "lastTransitionTime": self.now()}
            found["status"]["conditions"] = [condition]

    def now(self) -> str:
        """Return the time as Kubernetes writes it."""
        return rfc3339(int(self._clock.time()))

    def _hear(self, gvr: GVR, change: str, document: Document) -> None:
        """Do what kubelets do."""
        if gvr != PODS or change == "DELETED":
            return
        name, has_node = document["metadata"]["name"], document["spec"].get("nodeName")
        if document["metadata"].get("deletionTimestamp"):
            if name not in self.hangs and document["metadata"].get("finalizers"):
                self._after(ENDS_SECONDS if has_node else 0, self._end, document)
        elif has_node and document["status"]["phase"] == "Pending":
            self._after(STARTS_SECONDS, self._start, document)

    def _after(self, seconds: float, act: Callable[[str], None], document: Document) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            name = document["metadata"]["name"]
            if self._is_there(name, document["metadata"]["uid"]):
                act(name)

        task = asyncio.get_running_loop().create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_there(self, name: str, uid: str) -> bool:
        if not self.objects.has(PODS, NAMESPACE, name):
            return False
        return bool(self.objects.get(PODS, NAMESPACE, name)["metadata"]["uid"] == uid)

    def _start(self, name: str) -> None:
        with self.objects.changing(PODS, NAMESPACE, name) as found:
            if found["status"]["phase"] == "Pending":
                found["status"] |= {"phase": "Running", "startTime": self.now()}

    def _end(self, name: str) -> None:
        if name not in self.hangs:
            self.gone(name)
