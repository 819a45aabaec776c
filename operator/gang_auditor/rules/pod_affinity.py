"""`pod_affinity`: required affinity, anti-affinity and spread of pods hold.

Source: InterPodAffinity and PodTopologySpread of kube-scheduler, with both directions of
anti-affinity.

The members of a gang are bound in any order, and may need each other. So the pods that a pod needs
may appear within the skew, and all pods present at any time of it count.

Not flagged: anti-affinity against pods that another scheduler has bound within the skew; a spread
with `minDomains`; a constraint with matchLabelKeys or with a namespaceSelector that is not empty.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from gang_auditor import objects
from gang_auditor.auditor import Limits
from gang_auditor.findings import Finding
from gang_auditor.objects import Node, Pod, mapping, rows
from gang_auditor.watch_events import Object
from gang_auditor.world import Change, Due, World

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class _Binding(NamedTuple):
    """A binding, and the pods that were on nodes at that time."""

    pod: Pod
    at: float
    since: float
    there: Sequence[Pod]


class PodAffinity:
    """Judges whether a binding breaks a required affinity, anti-affinity or spread."""

    name = "pod_affinity"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[_Binding] = Due(limits.skew)
        self._repelling: dict[str, Pod] = {}

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note bindings of pods with affinity, anti-affinity or spread."""
        for change in changes:
            self._note_repelling(change)
            pod = change.bound
            if pod is None or not self._limits.judges(pod) or pod.has_ended:
                continue
            if _terms(pod, "podAffinity") or _terms(pod, "podAntiAffinity") or _spread(pod):
                there = [e for e in world.pods.values() if e.holds_its_node and e.uid != pod.uid]
            else:
                there = [e for e in self._repelling.values() if e.uid != pod.uid]
            if there or _terms(pod, "podAffinity"):
                self._due.add(change.at, _Binding(pod, change.at, change.since, there))
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Judge bindings once the skew has passed."""
        for binding in self._due.take(now):
            for fault in self._faults(binding, world):
                details = {"node": binding.pod.node}
                message = f"bound to {binding.pod.node}, {fault}"
                yield Finding(binding.at, self.name, binding.pod.about, message, details)

    def _note_repelling(self, change: Change) -> None:
        for pod in (change.before, change.after):
            if pod is not None:
                self._repelling.pop(pod.uid, None)
        after = change.after
        if after is not None and after.holds_its_node and _terms(after, "podAntiAffinity"):
            self._repelling[after.uid] = after

    def _faults(self, binding: _Binding, world: World) -> Iterator[str]:
        pod, begin = binding.pod, self._limits.decided(binding.since)
        nodes = _Nodes(world, begin, binding.at + self._limits.skew)
        if pod.node not in nodes:
            return
        known = [
            each
            for each in binding.there
            if self._limits.judges(each) or world.bound_at.get(each.uid, binding.at) <= begin
        ]
        yield from _repelled(pod, known, nodes)
        if _terms(pod, "podAffinity") or _spread(pod):
            later = [e for e in world.pods.values() if e.holds_its_node and e.uid != pod.uid]
            yield from _missed(pod, [*binding.there, *later], nodes)
            for constraint in _spread(pod):
                if over := _over(constraint, pod, (binding.there, later), nodes):
                    yield over


def _repelled(pod: Pod, others: Sequence[Pod], nodes: "_Nodes") -> Iterator[str]:
    """Yield the fault for each pod that must not be near, by its own terms or the bound pod's."""
    for other in others:
        own, theirs = _terms(pod, "podAntiAffinity"), _terms(other, "podAntiAffinity")
        if any(_is_meant(e, pod, other) and nodes.share(e, pod, other) for e in own):
            yield f"near {other.key}, which its anti-affinity forbids"
        if any(_is_meant(e, other, pod) and nodes.share(e, pod, other) for e in theirs):
            yield f"near {other.key}, whose anti-affinity forbids it"


def _missed(pod: Pod, others: Sequence[Pod], nodes: "_Nodes") -> Iterator[str]:
    """Yield the fault for each affinity term of a pod for which no pod is near."""
    for term in _terms(pod, "podAffinity"):
        if not _is_near(term, pod, others, nodes):
            yield f"without the pods that its affinity for {term.get('topologyKey')} asks for"


class _Nodes:
    """The nodes as they are now. Nodes that came or went from `begin` to `end` are not steady."""

    def __init__(self, world: World, begin: float, end: float) -> None:
        self._nodes = {each.name: each for each in world.nodes}
        between = world.nodes.between
        self._steady = {name for name in self._nodes if None not in between(name, begin, end)}

    def __contains__(self, name: str) -> bool:
        return name in self._nodes

    def steady(self) -> Iterator[Node]:
        """Yield the nodes that existed all the time."""
        return (self._nodes[name] for name in self._steady)

    def value(self, name: str, key: object) -> str | None:
        """Return the value of a label of a node; None without it."""
        found = self._nodes.get(name)
        return found.labels.get(str(key)) if found is not None else None

    def share(self, term: Object, one: Pod, other: Pod) -> bool:
        """Return whether two pods are in the same domain by the topologyKey of a term."""
        key = term.get("topologyKey")
        value = self.value(one.node, key)
        return value is not None and value == self.value(other.node, key)


def _terms(pod: Pod, name: str) -> Sequence[Object]:
    terms = rows(mapping(mapping(pod.spec, "affinity"), name), REQUIRED)
    return [e for e in terms if not e.get("namespaceSelector") and not _has_keys(e)]


def _has_keys(term: Object) -> bool:
    return bool(term.get("matchLabelKeys") or term.get("mismatchLabelKeys"))


def _is_meant(term: Object, owner: Pod, other: Pod) -> bool:
    """Return whether a term of the pod `owner` selects another pod."""
    if term.get("namespaceSelector") is None:
        namespaces = term.get("namespaces") or [owner.namespace]
        if other.namespace not in namespaces:
            return False
    return objects.selects(term.get("labelSelector"), other.labels)


def _is_near(term: Object, pod: Pod, others: Sequence[Pod], nodes: _Nodes) -> bool:
    meant = [each for each in others if _is_meant(term, pod, each)]
    if nodes.value(pod.node, term.get("topologyKey")) is None:
        return False
    if any(nodes.share(term, pod, each) for each in meant):
        return True
    # The first pod of its kind needs no other one.
    return _is_meant(term, pod, pod) and not any(
        nodes.value(each.node, term.get("topologyKey")) for each in meant
    )


def _spread(pod: Pod) -> Sequence[Object]:
    found = rows(pod.spec, "topologySpreadConstraints")
    return [
        each
        for each in found
        if each.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        and not each.get("minDomains")
        and not each.get("matchLabelKeys")
        and mapping(each, "labelSelector")
    ]


def _over(
    constraint: Object, pod: Pod, moments: Sequence[Sequence[Pod]], nodes: _Nodes
) -> str | None:
    """Return the fault if a spread is exceeded: the fewest pods here, and the most elsewhere."""
    key, selector = str(constraint.get("topologyKey")), mapping(constraint, "labelSelector")
    if not objects.selects(selector, pod.labels):
        return None
    own = nodes.value(pod.node, key)
    if own is None:
        return f"which has no label {key}, over which it is to be spread"
    counts = [_counts(key, selector, pod, pods, nodes) for pods in moments]
    here = 1 + min(each.get(own, 0) for each in counts)
    least = min(max(each.get(value, 0) for each in counts) for value in _domains(key, pod, nodes))
    skew = here - min(least, here)
    most = int(constraint.get("maxSkew") or 1)
    return f"{skew} more than elsewhere of {key}, where {most} may be" if skew > most else None


def _domains(key: str, pod: Pod, nodes: _Nodes) -> set[str]:
    """Return the domains that count for a spread: domains with a node that takes the pod."""
    keys = [str(each.get("topologyKey")) for each in _spread(pod)]
    return {
        each.labels[key]
        for each in nodes.steady()
        if all(name in each.labels for name in keys)
        and (objects.wants(pod, each) or each.name == pod.node)
    } | {nodes.value(pod.node, key) or ""}


def _counts(
    key: str, selector: Object, pod: Pod, pods: Sequence[Pod], nodes: _Nodes
) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for each in pods:
        value = nodes.value(each.node, key)
        same = each.namespace == pod.namespace and not each.is_deleted
        if value is not None and same and objects.selects(selector, each.labels):
            found[value] = found.get(value, 0) + 1
    return found
