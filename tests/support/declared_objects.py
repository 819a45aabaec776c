"""Queues and trees of the network as the API server sends them."""

from typing import Any, Final

QUEUE_LABEL: Final = "py-gang-scheduler.io/queue"


def queue_body(name: str, cpus: int) -> dict[str, Any]:
    """Return a Queue with so many CPUs, and no more."""
    return {
        "apiVersion": "py-gang-scheduler.io/v1alpha1",
        "kind": "Queue",
        "metadata": {"name": name, "uid": f"uid-queue-{name}"},
        "spec": {"quota": {"hard": {"cpu": str(cpus)}}},
    }


def tree_body() -> dict[str, Any]:
    """Return the tree `default`: nodes in racks, by their label `rack`."""
    rack = {"topologyLayer": "RackLayer", "labelKey": ["rack"]}
    node = {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"}
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "ClusterNetworkTopology",
        "metadata": {"name": "default", "uid": "uid-tree"},
        "spec": {"networkTopologySpec": [rack, node]},
    }
