"""What is measured: gangs and nodes, and how they are created."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from controlplane import Cluster
from controlplane.access import Access, Client

CREATORS = 16
NAMESPACE = "default"
LABEL = "pod-group.scheduling.sigs.k8s.io"
SCHEDULER = "py-gang-scheduler"


@dataclass(frozen=True)
class Shape:
    """`gangs` of `size` pods of 1 CPU and 1 GiB, on `nodes` of 16 CPUs and 64 GiB."""

    gangs: int = 250
    size: int = 20
    nodes: int = 1000

    @property
    def pods(self) -> int:
        """All pods."""
        return self.gangs * self.size

    def __str__(self) -> str:
        return f"{self.gangs} x {self.size} on {self.nodes} nodes"

    def pod_names(self) -> Iterator[str]:
        """Yield the names of all pods, gang by gang."""
        return (f"g{gang}-{i}" for gang in range(self.gangs) for i in range(self.size))


def create(cluster: Cluster, shape: Shape) -> None:
    """Create nodes, PodGroups and pods, and return when all exist."""
    cluster.nodes(shape.nodes, allocatable={"cpu": "16", "memory": "64Gi", "pods": "110"})
    with ThreadPoolExecutor(CREATORS) as creators:
        list(creators.map(lambda g: _create_gang(cluster.access, shape, g), range(shape.gangs)))


def _create_gang(access: Access, shape: Shape, gang: int) -> None:
    name = f"g{gang}"
    core = f"/api/v1/namespaces/{NAMESPACE}/pods"
    groups = f"/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{NAMESPACE}/podgroups"
    with Client(access) as client:
        client.request("POST", groups, _pod_group(name, shape.size)).check()
        for i in range(shape.size):
            client.request("POST", core, _pod(f"{name}-{i}", name)).check()


def _pod_group(name: str, size: int) -> Mapping[str, Any]:
    return {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {"minMember": size},
    }


def _pod(name: str, gang: str) -> Mapping[str, Any]:
    requests = {"cpu": "1", "memory": "1Gi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {LABEL: gang}},
        "spec": {
            "schedulerName": SCHEDULER,
            "containers": [{"name": "main", "image": "none", "resources": {"requests": requests}}],
        },
    }
