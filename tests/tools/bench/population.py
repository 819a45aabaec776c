"""Puts nodes and gangs into a cluster: all at once, or at a steady rate."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from support import device_objects
from tools.bench import gangs
from tools.bench.gangs import Dialect
from tools.bench.shape import CPUS, NAMESPACE, Body, Shape, node_labels
from tools.controlplane import Cluster
from tools.controlplane.access import Access, Client

CREATORS = 16
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEVICES = "/apis/resource.k8s.io/v1"
LONGEST_SECONDS = 600.0


def create_nodes(cluster: Cluster, shape: Shape) -> None:
    """Create the nodes."""
    room = {"cpu": str(CPUS), "memory": "64Gi", "pods": "110"}
    cluster.nodes(shape.nodes, allocatable=room, labels=node_labels)


def create_devices(cluster: Cluster, shape: Shape) -> None:
    """Create the slices of the nodes as a driver would, the class, and the template of claims."""
    if not shape.claims:
        return
    cluster.request("POST", f"{DEVICES}/deviceclasses", device_objects.device_class())
    template = _new(device_objects.template(gangs.CLAIM_TEMPLATE))
    path = f"{DEVICES}/namespaces/{NAMESPACE}/resourceclaimtemplates"
    cluster.request("POST", path, template)

    def create(first: int) -> None:
        with Client(cluster.access) as client:
            for number in range(first, shape.nodes, CREATORS):
                body = _new(device_objects.resource_slice(f"node-{number}", CPUS))
                client.request("POST", f"{DEVICES}/resourceslices", body).check()

    with ThreadPoolExecutor(CREATORS) as creators:
        list(creators.map(create, range(CREATORS)))


def _new(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "uid": ""}}


def wait_for_claims(cluster: Cluster, shape: Shape) -> None:
    """Wait until kube-controller-manager has made the claims of all pods, if they have any."""
    deadline = time.monotonic() + LONGEST_SECONDS
    while shape.claims and time.monotonic() < deadline:
        pods = cluster.request("GET", PODS)["items"]
        if sum("resourceClaimStatuses" in each["status"] for each in pods) == shape.pods:
            return
        time.sleep(1)


def create_queues(cluster: Cluster, shape: Shape) -> None:
    """Create the queues, if the gangs are in any."""
    for queue in gangs.queues(shape):
        path = f"/apis/{gangs.QUEUES}/queues"
        cluster.request("POST", path, queue)


def create_gangs(cluster: Cluster, shape: Shape, dialect: Dialect, scheduler: str) -> int:
    """Create all gangs and return how many objects these are; at the shape's rate, if it has one.

    The pods of a gang come one after the other, and several gangs at once.
    """
    begun = time.monotonic()

    def create(gang: int) -> int:
        if shape.rate:
            time.sleep(max(0.0, begun + gang * shape.size / shape.rate - time.monotonic()))
        return create_gang(cluster.access, *dialect(shape, gang, scheduler))

    with ThreadPoolExecutor(CREATORS) as creators:
        return sum(creators.map(create, range(shape.gangs)))


def create_gang(access: Access, group: Body | None, pods: list[dict[str, Any]]) -> int:
    """Create the objects of a gang and return how many there are."""
    with Client(access) as client:
        if group is not None:
            path = f"/apis/{group['apiVersion']}/namespaces/{NAMESPACE}/podgroups"
            client.request("POST", path, group).check()
        for pod in pods:
            client.request("POST", PODS, pod).check()
    return len(pods) + (group is not None)
