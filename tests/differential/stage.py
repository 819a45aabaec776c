"""The objects of a case on the API server: put up, looked at, and cleared away."""

import concurrent.futures
import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final, Self, TypeVar

from differential import worlds
from differential.worlds import NAMESPACES, Drawn, Manifest, Thing, World
from tools import controlplane
from tools.controlplane import access

CONNECTIONS: Final = 4
NOW: Final = {"gracePeriodSeconds": 0}
INVALID: Final = (403, 422)
LATER: Final = {"gracePeriodSeconds": 3600}
KINDS: Final = {
    "Node": "/api/v1/nodes",
    "Namespace": "/api/v1/namespaces",
    "PersistentVolume": "/api/v1/persistentvolumes",
    "PersistentVolumeClaim": "/api/v1/persistentvolumeclaims",
    "StorageClass": "/apis/storage.k8s.io/v1/storageclasses",
    "CSINode": "/apis/storage.k8s.io/v1/csinodes",
    "CSIDriver": "/apis/storage.k8s.io/v1/csidrivers",
    "CSIStorageCapacity": "/apis/storage.k8s.io/v1/csistoragecapacities",
    "VolumeAttachment": "/apis/storage.k8s.io/v1/volumeattachments",
    "Pod": "/api/v1/pods",
}
"""What is read back."""
CLEARED: Final = (
    *(f"/api/v1/namespaces/{name}/pods" for name in NAMESPACES),
    *(f"/api/v1/namespaces/{name}/persistentvolumeclaims" for name in NAMESPACES),
    "/api/v1/nodes",
    "/api/v1/persistentvolumes",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csinodes",
    "/apis/storage.k8s.io/v1/csidrivers",
    f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACES[0]}/csistoragecapacities",
    "/apis/storage.k8s.io/v1/volumeattachments",
    "/apis/node.k8s.io/v1/runtimeclasses",
)
CANARY_PORT: Final = 9

T = TypeVar("T")
R = TypeVar("R")


class Stage:
    """One control plane without any kubelet. A context manager: leaving it ends its connections."""

    def __init__(self, plane: controlplane.ControlPlane) -> None:
        self.plane = plane
        self._pool = concurrent.futures.ThreadPoolExecutor(CONNECTIONS)
        self._own = threading.local()
        self._clients: list[access.Client] = []

    def __enter__(self) -> Self:
        for name in NAMESPACES:
            self._send("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for client in self._clients:
            client.__exit__()

    def put_up(self, world: World) -> None:
        """Create all of a case but the pods that wait."""
        self._all(self._label, world.namespaces.items())
        # Objects that others name are created first.
        for _, things in itertools.groupby(world.things, key=lambda thing: thing.path):
            self._all(self._make, things)
        self._all(lambda node: self._send("POST", "/api/v1/nodes", node), world.nodes)
        self.create(world.bound)

    def create(self, pods: Iterable[Drawn]) -> list[Drawn]:
        """Create pods, do to them what was drawn for them, and return those that there may be.

        What some features add to a pod is refused by the API server when it comes together.
        """
        drawn = list(pods)
        made = self._all(self._create, drawn)
        return [pod for pod, there in zip(drawn, made, strict=True) if there]

    def pods(self) -> list[Manifest]:
        """Return all pods."""
        return self._list("/api/v1/pods")

    def everything(self) -> dict[str, list[Manifest]]:
        """Return all objects by kind."""
        return {kind: self._list(path) for kind, path in KINDS.items()}

    def clear(self, world: World) -> None:
        """Remove all objects of a case."""
        self._all(self._let_go, (thing for thing in world.things if thing.deleted))
        self._all(lambda path: self._send("DELETE", path, NOW), CLEARED)

    def _label(self, item: tuple[str, dict[str, str]]) -> None:
        name, labels = item
        body = {"metadata": {"name": name, "labels": labels}}
        self._send("PUT", f"/api/v1/namespaces/{name}", body)

    def _make(self, thing: Thing) -> None:
        made = self._send("POST", thing.path, thing.body)
        place = f"{thing.path}/{made['metadata']['name']}"
        if "status" in thing.body:
            self._send("PUT", f"{place}/status", {**made, "status": thing.body["status"]})
        if thing.deleted:
            self._send("DELETE", place)

    def _let_go(self, thing: Thing) -> None:
        place = f"{thing.path}/{thing.body['metadata']['name']}"
        found = self._send("GET", place)
        found["metadata"]["finalizers"] = []
        self._send("PUT", place, found)

    def _create(self, pod: Drawn) -> bool:
        place = f"{_pods(pod)}/{pod.name}"
        # A gate keeps the pod from being judged before its own objects exist.
        gates = {"schedulingGates": [{"name": "example.com/own"}]} if pod.own and pod.waits else {}
        try:
            made = self._send("POST", _pods(pod), {**pod.manifest, "spec": {**gates, **pod.spec}})
        except access.RefusedError as error:
            if error.status in INVALID:
                return False
            raise
        for thing in pod.own:
            self._make(_owned(thing, made))
        if gates and "schedulingGates" not in pod.spec:
            made["spec"]["schedulingGates"] = []
            made = self._send("PUT", place, made)
        if pod.status:
            status = {**made["status"], **pod.status}
            self._send("PUT", f"{place}/status", {**made, "status": status})
        if pod.deleted:
            self._send("DELETE", place, LATER)
        return True

    def _list(self, path: str) -> list[Manifest]:
        found: list[Manifest] = self._send("GET", path)["items"]
        return found

    def _all(self, work: Callable[[T], R], things: Iterable[T]) -> list[R]:
        return [done.result() for done in [self._pool.submit(work, each) for each in things]]

    def _send(self, method: str, path: str, body: Manifest | None = None) -> dict[str, Any]:
        if not hasattr(self._own, "client"):
            self._own.client = access.Client(self.plane.access)
            self._clients.append(self._own.client)
        client: access.Client = self._own.client
        return client.request(method, path, body).check().body


def canaries(world: World) -> tuple[Manifest, Drawn]:
    """Return a node and a pod on it, to be the last of a case that are created.

    A scheduler that has seen the pod has seen all nodes and pods of the case.
    """
    node = worlds.node(world.name("canary"), {worlds.HOSTNAME: world.name("canary")})
    return node, _canary(world, "canary", {"nodeName": world.name("canary")})


def question(world: World, number: int) -> Drawn:
    """Return a pod for which the canary's node has no room."""
    selector = {worlds.HOSTNAME: world.name("canary")}
    return _canary(world, f"canary-{number}", {"nodeSelector": selector})


def _canary(world: World, name: str, spec: Manifest) -> Drawn:
    pod = worlds.pod(world, name)
    pod.manifest["metadata"]["labels"] = {}
    pod.manifest["metadata"]["namespace"] = NAMESPACES[0]
    pod.container["ports"] = [{"containerPort": CANARY_PORT, "hostPort": CANARY_PORT}]
    pod.spec.update(spec)
    return pod


def _owned(thing: Thing, pod: Manifest) -> Thing:
    """Return a thing that belongs to a pod."""
    identity = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
    owner = {"apiVersion": "v1", "kind": "Pod", "controller": True, **identity}
    metadata = {**thing.body["metadata"], "ownerReferences": [owner]}
    return Thing(thing.path, {**thing.body, "metadata": metadata}, thing.deleted)


def _pods(pod: Drawn) -> str:
    return f"/api/v1/namespaces/{pod.namespace}/pods"
