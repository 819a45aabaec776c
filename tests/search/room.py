"""What nodes have left, and whether a pod may go to one; the filters that random worlds need."""

from collections.abc import Iterable, Mapping
from typing import Any

from search.facts import Pod, amount
from search.manifests import Manifest

EPSILON = 1e-9


class Room:
    """Nodes, and the pods that are on them now."""

    def __init__(self, nodes: Mapping[str, Manifest], there: Iterable[tuple[Pod, str]]) -> None:
        self.nodes = nodes
        self.free = {name: _offered(body) for name, body in nodes.items()}
        self.on: dict[str, list[Pod]] = {name: [] for name in nodes}
        self._open: dict[tuple[str, str], bool] = {}
        for pod, node in there:
            self.add(pod, node)

    def add(self, pod: Pod, node: str) -> None:
        """Put a pod on a node; one that is gone takes nothing along."""
        if node in self.nodes:
            self.on[node].append(pod)
            self._use(pod, node, -1)

    def remove(self, pod: Pod, node: str) -> None:
        """Take a pod off its node."""
        if node in self.nodes:
            self.on[node].remove(pod)
            self._use(pod, node, 1)

    def has_room(self, pod: Pod, node: str) -> bool:
        """Return whether a node is open to the pod, and has resources and ports left for it."""
        if not self.is_open(pod, node):
            return False
        left = self.free[node]
        if any(left.get(key, 0) < asked - EPSILON for key, asked in _asked(pod) if asked):
            return False
        return not (pod.ports and any(pod.ports & other.ports for other in self.on[node]))

    def is_open(self, pod: Pod, node: str) -> bool:
        """Return whether a node takes this pod at all."""
        key = (pod.class_, node)
        if key not in self._open:
            self._open[key] = _is_open(pod, self.nodes[node])
        return self._open[key]

    def overfull(self, node: str, pods: Iterable[Pod]) -> list[str]:
        """Return of which resources, asked for by these pods, a node has less than is used."""
        wanted = {key for pod in pods for key, asked in _asked(pod) if asked}
        return sorted(key for key in wanted if self.free[node].get(key, 0) < -EPSILON)

    def _use(self, pod: Pod, node: str, sign: int) -> None:
        left = self.free[node]
        for key, asked in _asked(pod):
            left[key] = left.get(key, 0) + sign * asked


def _offered(body: Manifest) -> dict[str, float]:
    return {key: amount(text) for key, text in body["status"]["allocatable"].items()}


def _asked(pod: Pod) -> list[tuple[str, float]]:
    return [*pod.requests.items(), ("pods", 1)]


def _is_open(pod: Pod, body: Manifest) -> bool:
    spec = body.get("spec") or {}
    conditions = body["status"].get("conditions") or []
    if any(each["type"] == "Ready" and each["status"] != "True" for each in conditions):
        return False
    if spec.get("unschedulable"):
        return False
    tolerated = pod.spec.get("tolerations") or []
    if not all(any(_tolerates(t, taint) for t in tolerated) for taint in spec.get("taints") or ()):
        return False
    labels = body["metadata"].get("labels") or {}
    selector = pod.spec.get("nodeSelector") or {}
    return all(labels.get(key) == value for key, value in selector.items())


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    exists = toleration.get("operator") == "Exists"
    return exists or toleration.get("value", "") == taint.get("value", "")
