"""Blocks of nodes that fail and come back, and a Job of one gang that must gather in a block."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

from e2e.support import gang_manifests
from e2e.support.manifests import GANG_LABEL, Manifest, pod_group
from e2e.support.namespaces import Namespace
from e2e.support.networks import BLOCK, DEFAULT, SPINE, SPINES, Network, asking
from tools import controlplane
from tools.controlplane import access

CPU = 4
INDEX = "batch.kubernetes.io/job-completion-index"
OUT_OF_SERVICE = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


class Blocks:
    """Nodes in blocks of one spine, as many in each as given; all are ready. A context manager."""

    def __init__(self, cluster: controlplane.Cluster, **sizes: int) -> None:
        self._cluster = cluster
        self._network = Network(cluster)
        self._names = {
            f"{block}-{number}": {SPINE: "s0", BLOCK: block}
            for block, size in sizes.items()
            for number in range(size)
        }

    def __enter__(self) -> Self:
        self._network.build(self._names, cpu=CPU)
        self._network.has(SPINES)
        return self

    def __exit__(self, *_: object) -> None:
        with access.Client(self._cluster.access) as client:
            client.request("DELETE", DEFAULT)
            # Some may be gone already.
            for name in self._names:
                client.request("DELETE", f"/api/v1/nodes/{name}")


def crash(namespace: Namespace, *nodes: str) -> None:
    """Let the kubelets of nodes be gone: no pod of theirs ends any more, and none is ready."""
    for name in nodes:
        namespace.change_node(name, lambda node: node["metadata"]["labels"].update(type="dead"))
        namespace.change_node(name, lambda node: _ready(node, "Unknown"), "status")


def come_back(namespace: Namespace, *nodes: str) -> None:
    """Let kubelets be there again."""
    for name in nodes:
        namespace.change_node(name, lambda node: node["metadata"]["labels"].update(type="kwok"))
        namespace.change_node(name, lambda node: _ready(node, "True"), "status")


def taint(namespace: Namespace, name: str) -> None:
    """Say that a node is out of service."""
    namespace.change_node(
        name,
        lambda node: node["spec"].update(taints=[*node["spec"].get("taints", ()), OUT_OF_SERVICE]),
    )


def _ready(node: dict[str, Any], status: str) -> None:
    condition = {"type": "Ready", "status": status, "reason": "ByHand", "message": ""}
    others = [each for each in node["status"].get("conditions", ()) if each["type"] != "Ready"]
    node["status"]["conditions"] = [*others, condition]


def gathering_job(
    name: str,
    size: int,
    *,
    at_once: bool = False,
    timeout_seconds: int | None = None,
    annotations: Mapping[str, str] | None = None,
) -> list[Manifest]:
    """Return a PodGroup that must gather in a block, and an indexed Job of its members.

    The pods take a node each, and have a grace period. Pods are created again once others are gone,
    or `at_once` when others are deleted: then Kubernetes waits for 10 seconds, as after failures.
    """
    group, *_ = asking([pod_group(name, size, timeout_seconds)], BlockLayer="MustGather")
    group["metadata"]["annotations"].update(annotations or {})
    job = gang_manifests.evictable_job(name, size, {GANG_LABEL: name}, cpu=CPU)
    if at_once:
        del job["spec"]["podFailurePolicy"]
        job["spec"] |= {"backoffLimitPerIndex": 10, "podReplacementPolicy": "TerminatingOrFailed"}
    job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    return [group, job]


def nodes_by_rank(namespace: Namespace, name: str) -> dict[int, tuple[str, str]]:
    """Return the uid and the node of each living member that has one, by its rank."""
    found = _living(namespace, name)
    return {rank: (uid, node) for rank, (uid, node) in found.items() if node}


def pods_of_ranks(namespace: Namespace, name: str, lost: Mapping[int, tuple[str, str]]) -> set[int]:
    """Return the ranks that have living members other than the lost ones."""
    found = _living(namespace, name)
    gone = {uid for uid, _ in lost.values()}
    return {rank for rank, (uid, _) in found.items() if uid not in gone}


def _living(namespace: Namespace, name: str) -> dict[int, tuple[str, str]]:
    """Return the uid and the node, "" for none, of each living member by its rank."""
    found = {}
    for pod in namespace.every("pods"):
        metadata = pod["metadata"]
        of_gang = metadata.get("labels", {}).get(GANG_LABEL) == name
        ended = pod["status"].get("phase") == "Failed"
        if of_gang and not ended and "deletionTimestamp" not in metadata:
            rank = int(metadata["annotations"][INDEX])
            found[rank] = (metadata["uid"], pod["spec"].get("nodeName", ""))
    return found


def names_of(namespace: Namespace, uids: Iterable[str]) -> list[str]:
    """Return the names of pods."""
    wanted = set(uids)
    pods = (each["metadata"] for each in namespace.every("pods"))
    return [each["name"] for each in pods if each["uid"] in wanted]


def delete_gently(namespace: Namespace, *names: str) -> None:
    """Delete pods as a controller does: they stay until a kubelet has ended them."""
    namespace.kubectl("delete", "pods", "--wait=false", *names)


def remove(namespace: Namespace, *names: str) -> None:
    """Remove pods as Kubernetes does of nodes that are gone or out of service."""
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}

    def end(pod: dict[str, Any]) -> None:
        pod["status"]["phase"] = "Failed"
        pod["status"]["conditions"] = [*pod["status"].get("conditions", ()), mark]

    for name in names:
        namespace.change_pod(name, end, "status")
    namespace.delete("pods", *names)
