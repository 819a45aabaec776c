"""Whether all pods on the nodes are as they want each other: affinity, anti-affinity, spread."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from search.facts import Pod
from search.room import Room

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def content(room: Room, fresh: Iterable[Pod]) -> bool:
    """Return whether no rule of these pods, or against them, is broken."""
    return not [*complaints(room, fresh)]


def complaints(room: Room, fresh: Iterable[Pod]) -> Iterator[str]:
    """Yield which rules of these pods, or of others against them, are broken."""
    where = {pod.key: node for node, pods in room.on.items() for pod in pods}
    new = [pod for pod in fresh if pod.key in where]
    every = [pod for pods in room.on.values() for pod in pods]
    for pod in new:
        node = where[pod.key]
        for other in every:
            if other is not pod and _repel(room, pod, node, other, where[other.key]):
                yield f"{pod.key} on {node} and {other.key} must not be together"
        for term in _terms(pod, "podAffinity"):
            if not _attracted(room, pod, node, term):
                yield f"{pod.key} is not where it wants to be"
        for rule in pod.spec.get("topologySpreadConstraints") or ():
            if _skewed(room, pod, node, rule):
                yield f"{pod.key} on {node} is not spread as it must be"


def _repel(room: Room, one: Pod, here: str, other: Pod, there: str) -> bool:
    for a, b in ((one, other), (other, one)):
        for term in _terms(a, "podAntiAffinity"):
            value = _label(room, here, term["topologyKey"])
            together = value is not None and value == _label(room, there, term["topologyKey"])
            if together and _means(term, a, b):
                return True
    return False


def _attracted(room: Room, pod: Pod, node: str, term: Mapping[str, Any]) -> bool:
    value = _label(room, node, term["topologyKey"])
    if value is None:
        return False
    if _means(term, pod, pod):
        return True
    return any(
        _means(term, pod, other) and _label(room, there, term["topologyKey"]) == value
        for there, pods in room.on.items()
        for other in pods
        if other is not pod
    )


def _skewed(room: Room, pod: Pod, node: str, rule: Mapping[str, Any]) -> bool:
    key = rule["topologyKey"]
    counts: Counter[str] = Counter()
    selector = pod.spec.get("nodeSelector") or {}
    for name, body in room.nodes.items():
        value = _label(room, name, key)
        labels = body["metadata"].get("labels") or {}
        if value is not None and all(labels.get(k) == v for k, v in selector.items()):
            counted = (o for o in room.on[name] if _means(rule, pod, o) and not o.deleting)
            counts[value] += sum(1 for _ in counted)
    own = _label(room, node, key)
    if own is None:
        return True
    return counts[own] - min(counts.values(), default=0) > int(rule["maxSkew"])


def _terms(pod: Pod, kind: str) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = (
        (pod.spec.get("affinity") or {}).get(kind, {}).get(REQUIRED, [])
    )
    return found


def _means(term: Mapping[str, Any], speaker: Pod, other: Pod) -> bool:
    wanted = (term.get("labelSelector") or {}).get("matchLabels") or {}
    same = speaker.namespace == other.namespace
    return same and bool(wanted) and all(other.labels.get(k) == v for k, v in wanted.items())


def _label(room: Room, node: str, key: str) -> str | None:
    labels: Mapping[str, str] = room.nodes[node]["metadata"].get("labels") or {}
    return labels.get(key)
