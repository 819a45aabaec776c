"""A namespace of a test's own, with nodes of its own where it wants them: all go with it."""

import concurrent.futures
import itertools
import re
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from e2e.support import waiting
from e2e.support.manifests import GANG_LABEL, POD_GROUPS, Manifest
from tools import controlplane
from tools.controlplane import access, nodes

CONNECTIONS = 8
NUMBERS = itertools.count()
EVERYONE_IS_READY = {"cpu": "32", "memory": "64Gi", "pods": "110"}
Changes = Mapping[str, Any]


class Namespace:
    """Create, read and delete objects of one namespace. A context manager."""

    def __init__(self, cluster: controlplane.Cluster, title: str) -> None:
        self.cluster = cluster
        words = re.sub("[^a-z0-9]+", "-", title.removeprefix("test_"))[:40].strip("-")
        self.name = f"{words}-{next(NUMBERS)}"
        self._nodes: list[str] = []

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.delete_all("pods")
        path = f"/api/v1/namespaces/{self.name}"
        _in_parallel(
            self.cluster,
            [
                ("DELETE", path, None),
                *(("DELETE", f"/api/v1/nodes/{n}", None) for n in self._nodes),
            ],
        )

    def begin(self) -> None:
        """Create the namespace itself; `with` does it, and ends it."""
        self.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})

    @property
    def here(self) -> dict[str, str]:
        """The node selector of this namespace's own nodes."""
        return {"e2e": self.name}

    def own_nodes(
        self,
        count: int,
        *,
        cpu: int = 32,
        kubelets: bool = True,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        devices: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Create nodes that go with the namespace; without kubelets no pod ever runs there."""
        numbers = range(len(self._nodes), len(self._nodes) + count)
        all_labels = {**self.here, **(labels or {})}
        if not kubelets:
            all_labels["type"] = "by-hand"
        room = {**EVERYONE_IS_READY, "cpu": str(cpu), **(devices or {})}
        made = [nodes.manifest(f"{self.name}-{i}", all_labels, room, taints) for i in numbers]
        nodes.create(self.cluster.access, made)
        names = [each["metadata"]["name"] for each in made]
        self._nodes += names
        return names

    def change_node(
        self, name: str, change: Callable[[dict[str, Any]], None], part: str = ""
    ) -> None:
        """Change a node, or its subresource `part`, despite other writers."""
        self._replace(f"/api/v1/nodes/{name}", change, part)

    def create(self, *documents: Manifest) -> None:
        """Create objects over some connections at once."""
        requests = [("POST", self.path(_plural(each)), each) for each in documents]
        for reply in _in_parallel(self.cluster, requests):
            reply.check()

    def create_in_order(self, documents: Iterable[Manifest]) -> None:
        """Create objects one after the other."""
        with access.Client(self.cluster.access) as client:
            for each in documents:
                client.request("POST", self.path(_plural(each)), each).check()

    def get(self, plural: str, name: str) -> dict[str, Any]:
        """Return one object."""
        found: dict[str, Any] = self.cluster.request("GET", f"{self.path(plural)}/{name}")
        return found

    def every(self, plural: str) -> list[dict[str, Any]]:
        """Return all objects of a kind."""
        found: list[dict[str, Any]] = self.cluster.request("GET", self.path(plural))["items"]
        return found

    def delete(self, plural: str, *names: str) -> None:
        """Delete objects at once, and what they own."""
        now = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        requests = [("DELETE", f"{self.path(plural)}/{name}", now) for name in names]
        for reply in _in_parallel(self.cluster, requests):
            reply.check()

    def delete_all(self, plural: str) -> None:
        """Delete all objects of a kind at once."""
        self.cluster.request("DELETE", self.path(plural), {"gracePeriodSeconds": 0})

    def delete_gangs(self, *names: str) -> None:
        """Delete gangs at once: PodGroups and members."""
        wanted = urllib.parse.quote(f"{GANG_LABEL} in ({','.join(names)})")
        now = {"gracePeriodSeconds": 0}
        self.cluster.request("DELETE", f"{self.path('pods')}?labelSelector={wanted}", now)
        self.delete("podgroups", *names)

    def bind(self, pod: str, node: str) -> None:
        """Bind a pod as another scheduler would."""
        target = {"kind": "Node", "name": node}
        body = {"metadata": {"name": pod}, "target": target}
        self.cluster.request("POST", f"{self.path('pods')}/{pod}/binding", body)

    def node_of(self, pod: str) -> str | None:
        """Return the node that a pod is bound to."""
        node: str | None = self.get("pods", pod)["spec"].get("nodeName")
        return node

    def bound(self, prefix: str = "") -> dict[str, str]:
        """Return the node of every bound pod whose name begins with a prefix."""
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.every("pods")
            if "nodeName" in pod["spec"] and pod["metadata"]["name"].startswith(prefix)
        }

    def set_phase(self, pod: str, phase: str) -> None:
        """Write what a kubelet would write."""
        self.change_pod(pod, lambda found: found["status"].update(phase=phase), "status")

    def change_pod(
        self, name: str, change: Callable[[dict[str, Any]], None], part: str = ""
    ) -> None:
        """Change a pod, or its subresource `part`, despite other writers."""
        self._replace(f"{self.path('pods')}/{name}", change, part)

    def status(self, gang: str) -> dict[str, Any]:
        """Return the status of a PodGroup, {} while it has none."""
        status: dict[str, Any] = self.get("podgroups", gang).get("status", {})
        return status

    def phase(self, gang: str) -> str | None:
        """Return the phase of a PodGroup."""
        phase: str | None = self.status(gang).get("phase")
        return phase

    def condition_of_gang(self, gang: str, kind: str) -> dict[str, Any]:
        """Return a condition of a PodGroup, {} while it has none of that type."""
        return _condition(self.get("podgroups", gang), kind)

    def condition_of_pod(self, pod: str, kind: str = "PodScheduled") -> dict[str, Any]:
        """Return a condition of a pod, {} while it has none of that type."""
        return _condition(self.get("pods", pod), kind)

    def events(self, about: str) -> list[dict[str, Any]]:
        """Return the Events about an object."""
        found = self.cluster.request("GET", self.path("events"))["items"]
        return [event for event in found if event["regarding"]["name"] == about]

    def notes(self, about: str, reason: str) -> list[str]:
        """Return what the Events of one reason say about an object."""
        return [event["note"] for event in self.events(about) if event["reason"] == reason]

    def wait_for_the_next_second(self) -> None:
        """Return when what is created now is younger for sure: creation times are in seconds."""
        begun = self._creation_time()
        waiting.until(lambda: self._creation_time() > begun)

    def watch(self) -> controlplane.Watcher:
        """Return a watcher of this namespace's pods, to be used as a context manager."""
        return controlplane.Watcher(self.cluster, self.name)

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """Run kubectl in this namespace."""
        return self.cluster.kubectl(
            f"--namespace={self.name}", *arguments, input=stdin, check=check
        )

    def path(self, plural: str) -> str:
        """Return the path of a kind in this namespace."""
        return f"/{PREFIXES.get(plural, 'api/v1')}/namespaces/{self.name}/{plural}"

    def _creation_time(self) -> str:
        clock = {"metadata": {"generateName": "clock-"}}
        made = self.cluster.request("POST", self.path("configmaps"), clock)
        return str(made["metadata"]["creationTimestamp"])

    def _replace(self, path: str, change: Callable[[dict[str, Any]], None], part: str) -> None:
        with access.Client(self.cluster.access) as client:

            def was_replaced() -> bool:
                found = client.request("GET", path).check().body
                change(found)
                reply = client.request("PUT", f"{path}/{part}" if part else path, found)
                return reply.status != 409 and reply.check().status == 200

            waiting.until(was_replaced)


PREFIXES = {
    "podgroups": POD_GROUPS,
    "events": "apis/events.k8s.io/v1",
    "jobs": "apis/batch/v1",
    "jobsets": "apis/jobset.x-k8s.io/v1alpha2",
    "resourceclaims": "apis/resource.k8s.io/v1",
    "resourceclaimtemplates": "apis/resource.k8s.io/v1",
}


def _plural(document: Manifest) -> str:
    return f"{document['kind'].lower()}s"


def _condition(thing: dict[str, Any], kind: str) -> dict[str, Any]:
    conditions = thing.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == kind), {})


def _in_parallel(
    cluster: controlplane.Cluster, requests: Sequence[tuple[str, str, Changes | None]]
) -> list[access.Reply]:
    slices = [requests[first::CONNECTIONS] for first in range(CONNECTIONS)]

    def in_turn(part: Sequence[tuple[str, str, Changes | None]]) -> list[access.Reply]:
        with access.Client(cluster.access) as client:
            return [client.request(*request) for request in part]

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        return [reply for done in pool.map(in_turn, [s for s in slices if s]) for reply in done]
