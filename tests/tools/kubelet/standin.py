"""Looks at all pods again and again, and does the next step of each that it plays."""

import contextlib
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from gang_scheduler import checkpoint
from tools.controlplane import access, directories, repeated_calls
from tools.controlplane.cluster import Cluster
from tools.controlplane.processes import Processes
from tools.kubelet import logs, statuses
from tools.kubelet.containers import Container, name_of
from tools.kubelet.variables import Pod
from tools.kubelet.volumes import Volumes

LABELS: Final = {"type": "processes"}
PAUSE_SECONDS = 0.05
GONE = (404, 409)
Places = Mapping[str, str]
NO_PLACES: Final[Places] = {}
PLACES: Final[Places] = {
    "CHECKPOINT_REQUEST_FILE": checkpoint.REQUEST_FILE,
    "CHECKPOINT_TERMINATION_LOG": checkpoint.TERMINATION_LOG,
    "CHECKPOINT_SERVICE_ACCOUNT": checkpoint.SERVICE_ACCOUNT,
}
"""Variables by which checkpoint.py finds files that are not where they are in a container."""


class Kubelets:
    """The kubelets of all nodes with the labels. `places` are variables with paths of files."""

    def __init__(self, cluster: Cluster, processes: Processes, places: Places) -> None:
        self.shared = processes.directory / "shared"
        self._cluster = cluster
        self._processes = processes
        self._places = places
        self._turn = threading.Lock()
        self._played: dict[str, Container] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._removed: set[str] = set()

    def log(self, pod: Pod) -> str:
        """Return what the container of a pod has written so far, also when the pod is gone."""
        log = self._processes.log(name_of(pod))
        return log.read_text() if log.exists() else ""

    @property
    def directory(self) -> Path:
        """Where logs and files of containers are."""
        return self._processes.directory

    def find(self, namespace: str, name: str) -> logs.Log | None:
        """Return the log of the container of a pod, and whether it runs."""
        container = self._played.get(self._names.get((namespace, name), ""))
        if container is None:
            return None
        return self._processes.log(container.name), not container.reported

    def end_all(self) -> None:
        """Kill all containers, with all that they have started."""
        with self._turn:
            for container in self._played.values():
                container.kill()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Do nothing until the block ends: containers run on, and hear of nothing."""
        with self._turn:
            yield

    def look(self, client: access.Client) -> None:
        """Do the next step of every pod."""
        with self._turn:
            self._look(client)

    def _look(self, client: access.Client) -> None:
        pods = {pod["metadata"]["uid"]: pod for pod in self._pods(client)}
        for uid in self._played.keys() - pods.keys():
            self._played.pop(uid).forget()
        for uid, pod in pods.items():
            if uid in self._played:
                self._go_on(client, pod, self._played[uid])
            elif "deletionTimestamp" in pod["metadata"]:
                self._remove(client, pod)
            elif pod["status"]["phase"] == "Pending":
                self._start(client, pod)

    def _start(self, client: access.Client, pod: Pod) -> None:
        volumes = self._volumes(pod)
        if not volumes.make(pod, self._cluster, client):
            return
        container = Container(pod, volumes, self._processes)
        container.start(pod, self._given(pod))
        self._names[pod["metadata"]["namespace"], pod["metadata"]["name"]] = pod["metadata"]["uid"]
        self._played[pod["metadata"]["uid"]] = container
        self._write(client, pod, statuses.started(pod))

    def _go_on(self, client: access.Client, pod: Pod, container: Container) -> None:
        leaving = "deletionTimestamp" in pod["metadata"]
        code = container.exit_code()
        if code is None:
            container.volumes.refresh(pod)
            if leaving:
                container.end(pod["metadata"]["deletionGracePeriodSeconds"])
            return
        if not container.reported:
            message = container.volumes.termination_log.read_bytes()
            self._write(client, pod, statuses.ended(pod, code, message))
            container.reported = True
        if leaving:
            self._remove(client, pod)

    def _remove(self, client: access.Client, pod: Pod) -> None:
        uid = pod["metadata"]["uid"]
        if uid not in self._removed:
            # It stays while it has finalizers, but not because of its kubelet.
            self._removed.add(uid)
            now = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            _check(client.request("DELETE", _path(pod), now))

    def _write(self, client: access.Client, pod: Pod, patch: dict[str, Any]) -> None:
        same = {"metadata": {"uid": pod["metadata"]["uid"]}}
        _check(client.request("PATCH", f"{_path(pod)}/status", {**same, **patch}))

    def _pods(self, client: access.Client) -> Iterator[dict[str, Any]]:
        """Yield the pods on the nodes that are played."""
        labels = ",".join(f"{key}={value}" for key, value in LABELS.items())
        query = urllib.parse.urlencode({"labelSelector": labels})
        found = client.request("GET", f"/api/v1/nodes?{query}").check().body["items"]
        names = {node["metadata"]["name"] for node in found}
        for pod in client.request("GET", "/api/v1/pods").check().body["items"]:
            if pod["spec"].get("nodeName") in names:
                yield pod

    def _volumes(self, pod: Pod) -> Volumes:
        return Volumes(self._processes.directory / pod["metadata"]["uid"], self.shared)

    def _given(self, pod: Pod) -> dict[str, str]:
        address = urllib.parse.urlsplit(self._cluster.url)
        return {
            "HOSTNAME": pod["spec"].get("hostname", pod["metadata"]["name"]),
            "KUBERNETES_SERVICE_HOST": str(address.hostname),
            "KUBERNETES_SERVICE_PORT": str(address.port),
            **self._places,
        }


@contextlib.contextmanager
def running(cluster: Cluster, places: Places = NO_PLACES) -> Iterator[Kubelets]:
    """Run the kubelets until the block ends; then all containers are killed."""
    processes = Processes(*directories.create())
    try:
        kubelets = Kubelets(cluster, processes, places)
        with repeated_calls.repeating(cluster, kubelets.look, PAUSE_SECONDS):
            try:
                yield kubelets
            finally:
                kubelets.end_all()
    finally:
        processes.close()


def _path(pod: Pod) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"


def _check(reply: access.Reply) -> None:
    """Raise unless a request was done, or the pod is gone meanwhile."""
    if reply.status not in GONE:
        reply.check()
