"""Pods that come bound, on the embedded API server: no other program takes time for them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from gang_scheduler.api.kinds import GVR, NAMESPACES, NODES, POD_GROUPS, PODS
from gang_scheduler.demo import world
from gang_scheduler.embedded.kinds import Served
from gang_scheduler.embedded.objects import Deletion, Options
from gang_scheduler.embedded.server import Server

NAMESPACE = "churn"
KINDS = {"Pod": PODS, "PodGroup": POD_GROUPS}
Document = dict[str, Any]


class BoundPods:
    """Creates gangs whose pods are on their nodes, and lets these run a moment later."""

    def __init__(self, server: Server, portal: BlockingPortal, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self._server = server
        self._portal = portal
        self._starting: list[str] = []
        self._members: dict[str, list[str]] = {}

    @classmethod
    @contextmanager
    def served(cls, directory: Path) -> Iterator[Self]:
        """Run an API server with the kinds of this product until the block ends."""
        with (
            start_blocking_portal() as portal,
            portal.wrap_async_context_manager(Server(controllers=False)) as server,
        ):
            made = cls(server, portal, directory / "kubeconfig")
            made.kubeconfig.write_text(json.dumps(_kubeconfig(server.url)))
            for each in world.definitions():
                portal.call(server.install, each.body)
            portal.call(made._create, NAMESPACES, "", {"metadata": {"name": NAMESPACE}})
            yield made

    def nodes(self, number: int, cpu: int) -> tuple[str, ...]:
        """Create nodes, and return their names."""
        names = tuple(f"node-{each}" for each in range(number))
        room = {"cpu": str(cpu), "memory": "64Gi", "pods": "110"}
        ready = [{"type": "Ready", "status": "True"}]
        for name in names:
            body = {
                "metadata": {"name": name},
                "status": {"allocatable": room, "capacity": room, "conditions": ready},
            }
            self._portal.call(self._create, NODES, "", body)
        return names

    def create(self, *documents: Document) -> None:
        """Create PodGroups and pods."""
        self._portal.call(self._create_all, documents)

    def delete_gangs(self, *names: str) -> None:
        """Delete PodGroups and their pods."""
        self._portal.call(self._delete_all, names)

    def _create_all(self, documents: tuple[Document, ...]) -> None:
        running, self._starting = self._starting, []
        for name in running:
            self._server.objects.change(self._served(PODS), NAMESPACE, name, _run)
        for each in documents:
            name, kind = each["metadata"]["name"], each["kind"]
            self._create(KINDS[kind], NAMESPACE, each)
            if kind == "PodGroup":
                self._members[name] = []
            else:
                self._members[name.rpartition("-")[0]].append(name)
                self._starting.append(name)

    def _delete_all(self, names: tuple[str, ...]) -> None:
        for name in names:
            for pod in self._members.pop(name):
                self._delete(PODS, pod)
            self._delete(POD_GROUPS, name)

    def _delete(self, gvr: GVR, name: str) -> None:
        self._server.objects.delete(self._served(gvr), NAMESPACE, name, Deletion(grace_seconds=0))

    def _create(self, gvr: GVR, namespace: str, body: Document) -> None:
        served = self._served(gvr)
        kind = {"apiVersion": gvr.api_version, "kind": served.kind}
        self._server.objects.create(served, namespace, {**kind, **body}, Options())

    def _served(self, gvr: GVR) -> Served:
        found = self._server.kinds.find(*gvr)
        assert found is not None
        return found


def _run(pod: Document) -> None:
    pod["status"] = {**pod.get("status", {}), "phase": "Running"}


def _kubeconfig(url: str) -> Document:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "soak", "cluster": {"server": url}}],
        "users": [{"name": "soak", "user": {}}],
        "contexts": [{"name": "soak", "context": {"cluster": "soak", "user": "soak"}}],
        "current-context": "soak",
    }
