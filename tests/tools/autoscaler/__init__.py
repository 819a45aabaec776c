"""Plays the cluster autoscaler for ProvisioningRequests, on any cluster, one step at a time.

It sees the requests, makes nodes for them out of nothing, and writes the conditions that the
autoscaler would. The real one needs a cloud. What it `bought` is counted by request, so that a test
can tell that nothing was bought twice.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tools import controlplane
from tools.controlplane import nodes

ROOT: Final = "/apis/autoscaling.x-k8s.io/v1"

Request = dict[str, Any]


class Autoscaler:
    """Answers the requests of one namespace. `labels` are those of the nodes that it makes."""

    def __init__(
        self, cluster: controlplane.Cluster, namespace: str, labels: Mapping[str, str]
    ) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._labels = labels
        self.bought: Counter[str] = Counter()
        self.nodes: list[str] = []
        self.seen: dict[str, Request] = {}

    def requests(self) -> list[Request]:
        """Return all requests, the oldest first; all that ever were are in `seen`, by uid."""
        items = self._cluster.request("GET", self._path("provisioningrequests"))["items"]
        self.seen.update({each["metadata"]["uid"]: each for each in items})
        return sorted(items, key=lambda each: each["metadata"]["creationTimestamp"])

    def names(self) -> list[str]:
        """Return the names of all requests that there are."""
        return [each["metadata"]["name"] for each in self.requests()]

    def unanswered(self) -> list[Request]:
        """Return the requests without any condition."""
        return [each for each in self.requests() if not each.get("status", {}).get("conditions")]

    def templates_of(self, request: Request) -> list[dict[str, Any]]:
        """Return the PodTemplates that a request names."""
        refs = [each["podTemplateRef"]["name"] for each in request["spec"]["podSets"]]
        return [self._cluster.request("GET", f"{self._path('podtemplates')}/{n}") for n in refs]

    def accept(self, request: Request) -> None:
        """Say that nodes will be bought."""
        self.answer(request, "Accepted", "the request was accepted")

    def provision(self, request: Request) -> None:
        """Make a node for each pod of a request, with what its PodTemplate asks for."""
        name = request["metadata"]["name"]
        made = []
        for pod_set, template in zip(
            request["spec"]["podSets"], self.templates_of(request), strict=True
        ):
            made += [self._node(template) for _ in range(pod_set["count"])]
        self.bought[name] += len(made)
        # As the real one: once the cloud has agreed, before the nodes are there.
        self.answer(request, "Provisioned", f"{len(made)} nodes")
        nodes.create(self._cluster.access, made)

    def fail(self, request: Request, message: str) -> None:
        """Say that no nodes can be bought."""
        self.answer(request, "Failed", message)

    def expire(self, request: Request) -> None:
        """Say that the nodes are not booked any more."""
        self.answer(request, "BookingExpired", "the booking is over")

    def revoke(self, request: Request) -> None:
        """Take the nodes away again."""
        for name in self.nodes:
            self._cluster.request("DELETE", f"/api/v1/nodes/{name}")
        self.nodes = []
        self.answer(request, "CapacityRevoked", "the nodes were taken away")

    def answer(self, request: Request, kind: str, message: str) -> None:
        """Set a condition."""
        path = f"{self._path('provisioningrequests')}/{request['metadata']['name']}"
        found = self._cluster.request("GET", path)
        condition = {
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": message,
            "lastTransitionTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        status = found.setdefault("status", {})
        others = [each for each in status.get("conditions", []) if each["type"] != kind]
        status["conditions"] = [*others, condition]
        self._cluster.request("PUT", f"{path}/status", found)

    def delete_nodes(self) -> None:
        """Delete all nodes that were made."""
        for name in self.nodes:
            self._cluster.request("DELETE", f"/api/v1/nodes/{name}")
        self.nodes = []

    def _node(self, template: Mapping[str, Any]) -> dict[str, Any]:
        spec = template["template"]["spec"]
        asked = spec["containers"][0]["resources"]["requests"]
        name = f"{self._namespace}-bought-{len(self.nodes)}"
        self.nodes.append(name)
        labels = {**self._labels, **(spec.get("nodeSelector") or {})}
        return nodes.manifest(name, labels, {"memory": "8Gi", "pods": "110", **asked})

    def _path(self, plural: str) -> str:
        root = ROOT if plural == "provisioningrequests" else "/api/v1"
        return f"{root}/namespaces/{self._namespace}/{plural}"
