"""A cluster in memory with topologies, and the writer of their status."""

import asyncio
from typing import Any

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, EVENTS, KUEUE_TOPOLOGIES
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import cluster
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.reasons import Reason
from gang_scheduler.model.topology import Topology
from gang_scheduler.report.topology_status import TopologyWriter
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import api_objects, builders, parts, watches

SPEC: list[dict[str, Any]] = [
    {"topologyLayer": "SpineLayer", "labelKey": ["spine"]},
    {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["block"]},
    {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
]


class TopologyHarness:
    """A cluster with a writer, whose watch tells of everything at once."""

    def __init__(self) -> None:
        self.api = FakeApi()
        self.cluster = self.api.cluster
        self.changes = Changes()
        self.cache = Cache([builders.SCHEDULER], self.changes)
        self.leads = True
        self.now = 1000.0
        self.events = parts.events(self.api, lambda: self.now)
        self.writer = TopologyWriter(
            self.api,
            self.cache,
            self.events,
            changes=self.changes,
            writes=Writes(lambda: self.leads),
            clock=lambda: self.now,
        )
        kinds = (CLUSTER_NETWORK_TOPOLOGIES, KUEUE_TOPOLOGIES[0])
        self.event_handlers = watches.tell_at_once(self.cluster, self.cache, kinds)

    def node(self, name: str, **labels: str) -> None:
        """Add a node, or change its labels."""
        self.cache.upsert(
            self.cache.node_store,
            cluster.read_node(api_objects.node_body(name, metadata={"labels": labels})),
        )

    def heartbeat(self, name: str, **labels: str) -> None:
        """Let a node say that it is alive, and that it is short of memory."""
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2024-05-01T12:00:00Z"}
        status = {"conditions": [ready, {"type": "MemoryPressure", "status": "True"}]}
        body = api_objects.node_body(name, metadata={"labels": labels}, status=status)
        self.cache.upsert(self.cache.node_store, cluster.read_node(body))

    def topology(
        self, spec: Any = SPEC, *, name: str = "default", uid: str = "", generation: int = 1
    ) -> None:
        """Create a topology, or give it another spec. The watch tells of it."""
        uid = uid or f"uid-{name}"
        present: dict[str, Any] = {}
        if self.cluster.has(CLUSTER_NETWORK_TOPOLOGIES, "", name):
            found = self.cluster.get(CLUSTER_NETWORK_TOPOLOGIES, "", name)
            same = found["metadata"]["uid"] == uid
            present = {"status": found["status"]} if same and "status" in found else {}
        metadata = {"name": name, "uid": uid, "generation": generation}
        body = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": metadata,
            "spec": {"networkTopologySpec": spec},
        }
        self.cluster.put(CLUSTER_NETWORK_TOPOLOGIES, {**body, **present})

    def kueue_topology(self, *keys: str, name: str = "default", version: str = "v1beta2") -> None:
        """Create a Topology of Kueue, or give it other levels. The watch tells of it."""
        body = {
            "apiVersion": f"kueue.x-k8s.io/{version}",
            "kind": "Topology",
            "metadata": {"name": name, "uid": f"uid-kueue-{name}"},
            "spec": {"levels": [{"nodeLabel": key} for key in keys]},
        }
        self.cluster.put(KUEUE_TOPOLOGIES[0], body)

    def tree(self) -> Topology | None:
        """Return the tree in use."""
        return self.cache.topologies.tree(self.cache.node_usage.table())

    def trees(self) -> list[str]:
        """Return the names of all trees in use, in their order."""
        return [tree_spec.name for tree_spec in self.cache.snapshot(0).tree_specs]

    def status(self, name: str = "default") -> dict[str, Any]:
        """Return the status that a topology has on the API server."""
        found = self.cluster.get(CLUSTER_NETWORK_TOPOLOGIES, "", name)
        return dict(found.get("status", {}))

    def condition(self, name: str = "default") -> tuple[str, str, str]:
        """Return status, reason and message of the only condition."""
        (ready,) = self.status(name)["conditions"]
        assert ready["type"] == "Ready"
        return ready["status"], ready["reason"], ready["message"]

    def writes(self) -> int:
        """Return how many statuses were sent."""
        return sum(call.method == "patch_status" for call in self.api.calls)

    async def notes(self) -> list[str]:
        """Send the Events that are queued, and return what all of them say."""
        sending = asyncio.create_task(self.events.run())
        for _ in range(10):
            await asyncio.sleep(0)
        sending.cancel()
        return [event["note"] for event in self.cluster.all(EVENTS)]

    def tried(self) -> list[str]:
        """Return the gangs that are worth a try now, and refuse them for an unknown layer."""
        gangs = [gang for group in self.cache.snapshot(0).groups for gang in group.gangs]
        for gang in gangs:
            self.cache.decisions.refused(Refused(gang, Reason.UNKNOWN_LAYER, gang.pending), 0)
        return [gang.key.name for gang in gangs]
