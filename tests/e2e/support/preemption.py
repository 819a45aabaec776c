"""What tests of preemption have in common: priorities, pods that run somewhere, and victims.

Nodes without a kubelet let a test say itself when an evicted pod is gone.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from e2e.support import manifests
from e2e.support.manifests import Manifest
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually
from tools import controlplane
from tools.controlplane import nodes

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
HIGH, LOW, NEVER = "e2e-high", "e2e-low", "e2e-never"
REASON = "PreemptionByScheduler"
BY_HAND = {"type": "by-hand"}
GRACE_SECONDS = 600


@contextlib.contextmanager
def priority_classes(cluster: controlplane.Cluster) -> Iterator[None]:
    """Create a high priority, one as high that never preempts, and a low one."""
    classes: dict[str, Manifest] = {
        HIGH: {"value": 1_000_000},
        NEVER: {"value": 1_000_000, "preemptionPolicy": "Never"},
        LOW: {"value": 1_000},
    }
    for name, fields in classes.items():
        cluster.request("POST", CLASSES, {"metadata": {"name": name}, **fields})
    yield
    for name in classes:
        cluster.request("DELETE", f"{CLASSES}/{name}")


def running_on(node: str, manifest: Manifest) -> Manifest:
    """Return a pod that is on a node from the start, past all schedulers."""
    return {**manifest, "spec": {**manifest["spec"], "nodeName": node}}


def low(name: str, node: str, **pod_fields: Any) -> Manifest:
    """Return a pod of low priority that runs on a node, and takes its time to end."""
    fields = {
        "priorityClassName": LOW,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        **pod_fields,
    }
    return running_on(node, manifests.pod(name, **fields))


def high(name: str, pods: int, **pod_fields: Any) -> list[Manifest]:
    """Return a gang of high priority."""
    return manifests.gang(name, pods, **{"priorityClassName": HIGH, **pod_fields})


def start(namespace: Namespace, *pods: Manifest) -> None:
    """Create pods on nodes without kubelets and say that they run."""
    namespace.create(*pods)
    for pod in pods:
        namespace.set_phase(pod["metadata"]["name"], "Running")


def evicted(namespace: Namespace) -> set[str]:
    """Return the names of the pods that are terminating."""
    return {name_of(pod) for pod in namespace.every("pods") if is_leaving(pod)}


def marked(namespace: Namespace) -> set[str]:
    """Return the names of the pods that say that they make room."""
    return {name_of(pod) for pod in namespace.every("pods") if is_marked(pod)}


def nominated(namespace: Namespace, prefix: str = "") -> dict[str, str]:
    """Return the nominated nodes of the waiting pods whose names begin with a prefix.

    Before Kubernetes 1.35, the field stays on a pod that is bound.
    """
    return {
        name_of(pod): pod["status"]["nominatedNodeName"]
        for pod in namespace.every("pods")
        if pod["status"].get("nominatedNodeName") and not pod["spec"].get("nodeName")
        if name_of(pod).startswith(prefix)
    }


def name_of(pod: Mapping[str, Any]) -> str:
    """Return the name of a pod."""
    return str(pod["metadata"]["name"])


def is_leaving(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod was deleted, if it is not gone yet."""
    return "deletionTimestamp" in pod["metadata"]


def is_marked(pod: Mapping[str, Any]) -> bool:
    """Return whether a pod says that it makes room."""
    conditions = pod["status"].get("conditions", [])
    return any(
        (each["type"], each["status"], each.get("reason")) == ("DisruptionTarget", "True", REASON)
        for each in conditions
    )


def let_go(namespace: Namespace, names: Iterable[str]) -> None:
    """End pods that were evicted, as a kubelet would."""
    found = set(names)
    eventually(found, lambda: evicted(namespace) & found)
    namespace.delete("pods", *sorted(found))


def by_hand(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a node that no kubelet looks after."""
    return {**labels, **BY_HAND}


def full_nodes(cluster: controlplane.Cluster, count: int, cpu: int) -> list[str]:
    """Create nodes without kubelets, which stay."""
    room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
    names = [f"node-{number}" for number in range(count)]
    nodes.create(cluster.access, [nodes.manifest(name, BY_HAND, room) for name in names])
    return names
