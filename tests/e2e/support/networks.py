"""Nodes in a network of a test's choice, with the topology `default`; and what gangs ask of it."""

import itertools
import json
from collections.abc import Mapping
from typing import Any, Self

from e2e.support import gang_manifests
from e2e.support.manifests import Manifest
from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import access, nodes

DEFAULT = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies/default"
INDEX = f"{gang_manifests.PREFIX}/network-topology-index"
SPINE, BLOCK = (f"network.topology.nvidia.com/{layer}" for layer in ("spine", "block"))
RACK = "example.com/rack"


def layers(keys: Mapping[str, str]) -> list[Manifest]:
    """Return the layers of a topology from the top down, by the keys of their labels."""
    named: list[Manifest] = [
        {"topologyLayer": name, "labelKey": [key]} for name, key in keys.items()
    ]
    listed = [*named, {"topologyLayer": "NodeTopologyLayer"}]
    for above, below in itertools.pairwise(listed):
        below["parentTopologyLayer"] = above["topologyLayer"]
    return listed


SPINES = layers({"SpineLayer": SPINE, "BlockLayer": BLOCK})
RACKS = layers({"RackLayer": RACK})


class Network:
    """A context manager: what it made goes with it."""

    def __init__(self, cluster: controlplane.Cluster) -> None:
        self.cluster = cluster
        self._nodes: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with access.Client(self.cluster.access) as client:
            client.request("DELETE", DEFAULT)
            for name in self._nodes:
                client.request("DELETE", f"/api/v1/nodes/{name}").check()

    def build(self, labels: Mapping[str, Mapping[str, str]], cpu: int) -> None:
        """Create nodes by name, all with so many CPUs."""
        room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        nodes.create(
            self.cluster.access, [nodes.manifest(name, own, room) for name, own in labels.items()]
        )
        self._nodes += labels

    def has(self, listed: list[Manifest]) -> None:
        """Create the topology, or give it other layers."""
        body: Manifest = {
            "apiVersion": "scheduling.koordinator.sh/v1alpha1",
            "kind": "ClusterNetworkTopology",
            "metadata": {"name": "default"},
            "spec": {"networkTopologySpec": listed},
        }
        self.cluster.kubectl("apply", "--filename=-", input=json.dumps(body))

    def topology(self) -> Manifest:
        """Return the topology."""
        found: Manifest = self.cluster.request("GET", DEFAULT)
        return found

    def detail(self) -> list[Manifest]:
        """Return the details of its status."""
        return details(self.topology())

    def node_nums(self) -> dict[str, int]:
        """Return how many nodes each domain has, by its name, as the status says."""
        return node_nums(self.topology())

    def labels(self, key: str) -> dict[str, str]:
        """Return the value of a label on all nodes."""
        found = self.cluster.request("GET", "/api/v1/nodes")["items"]
        return {each["metadata"]["name"]: each["metadata"]["labels"].get(key, "") for each in found}


def move(client: access.Client, name: str, key: str, value: str) -> int:
    """Change a label of a node, despite other writers; return the version that this made."""
    path = f"/api/v1/nodes/{name}"

    def moved() -> int:
        found = client.request("GET", path).check().body
        found["metadata"]["labels"][key] = value
        reply = client.request("PUT", path, found)
        return 0 if reply.status == 409 else version(reply.check().body)

    return until(moved)


def details(topology: Manifest) -> list[Manifest]:
    """Return the details of a topology's status."""
    found: list[Manifest] = topology.get("status", {}).get("detailStatus", [])
    return found


def node_nums(topology: Manifest) -> dict[str, int]:
    """Return how many nodes each domain has, by its name, as the status says."""
    return {each["topologyInfo"]["topologyName"]: each["nodeNum"] for each in details(topology)}


def version(thing: Manifest) -> int:
    """Return the version of an object: of two, the larger one was written later."""
    return int(thing["metadata"]["resourceVersion"])


def asking(gang: list[Manifest], **strategies: str) -> list[Manifest]:
    """Return a gang, PodGroup first, that asks for strategies by layer; members have indexes."""
    group, *members = gang
    rules = [{"layer": layer, "strategy": each} for layer, each in strategies.items()]
    spec = json.dumps({"gatherStrategy": rules})
    return [
        gang_manifests.annotated_group(group, "network-topology-spec", spec),
        *(indexed(each) for each in members),
    ]


def indexed(pod: Manifest, **metadata: Any) -> Manifest:
    """Return a pod whose index is the number at the end of its name."""
    index = {INDEX: pod["metadata"]["name"].rpartition("-")[2]}
    return {**pod, "metadata": {**pod["metadata"], "annotations": index, **metadata}}
