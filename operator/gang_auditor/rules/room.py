"""Rules on single bindings: bound once, within the node's capacity, filters and host ports."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gang_auditor import objects
from gang_auditor.auditor import Limits
from gang_auditor.findings import Finding
from gang_auditor.objects import Node, Pod
from gang_auditor.world import Change, Due, World

# A binding is judged once the watches of other kinds have caught up with it.


class Binding(NamedTuple):
    """A bound pod, and the pods `beside` it on its node. Times are in seconds.

    The binding was seen `at` a time, and happened not before `since`.
    """

    pod: Pod
    at: float
    since: float
    beside: Sequence[Pod]

    def about(self, limits: Limits) -> tuple[float, float]:
        """Return the begin and the end of the time in which the decision may have been made."""
        return limits.decided(self.since), self.at + limits.skew


def binding_of(pod: Pod, change: Change, world: World, limits: Limits) -> Binding:
    """Return the binding of a pod that a change has shown."""
    beside = counted(pod, change, world, limits)
    return Binding(pod, change.at, change.since, beside)


def counted(pod: Pod, change: Change, world: World, limits: Limits) -> list[Pod]:
    """Return the other pods on the node that the scheduler knew when it bound a pod.

    These are pods that it bound itself, and other pods that were there for longer than the skew.
    """
    known_by = change.since - limits.skew
    return [
        each
        for each in world.on_node(pod.node)
        if each.uid != pod.uid
        and (limits.judges(each) or world.bound_at.get(each.uid, change.at) <= known_by)
    ]


# Rule `bindings`: each pod is bound once, and never while it is being deleted, has ended or is
# gated. Source: a pod has one node for its life. The API server's binding subresource refuses pods
# that are being deleted or have gates, so such a binding got around it; it accepts pods that have
# ended.
#
# Not flagged: a pod that was deleted after it was bound, or has just ended.


class Bindings:
    """Reports bindings that are forbidden even if there is room."""

    name = "bindings"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Compare the versions of a pod before and after a change."""
        for change in changes:
            before, after = change.before, change.after
            if before is None or after is None or not self._limits.judges(after):
                continue
            if before.node and before.node != after.node:
                message = f"bound twice: to {before.node}, then to {after.node}"
                yield self._finding(change, after, message)
            elif not before.node and (state := self._unfit(before, change, world)):
                yield self._finding(change, after, f"bound to {after.node} while it {state}")

    def passed(self, now: float, world: World) -> Iterator[Finding]:  # noqa: ARG002 - a rule's.
        """Judge nothing later."""
        yield from ()

    def _finding(self, change: Change, pod: Pod, message: str) -> Finding:
        return Finding(change.at, self.name, pod.about, message, {"node": pod.node})

    def _unfit(self, pod: Pod, change: Change, world: World) -> str:
        """Return why a pod must not be bound, "" if it may be bound.

        Gates may have been removed between two lists.
        """
        over_at = world.over_at.get(pod.uid, change.at)
        states = {
            "was being deleted": pod.is_deleted,
            "had ended": pod.has_ended and over_at < self._limits.decided(change.since),
            "had scheduling gates": pod.is_gated and change.since == change.at,
        }
        return next((words for words, holds in states.items() if holds), "")


# Rule `capacity`: no binding puts more on a node than the node offers, of any resource. Source:
# NodeResourcesFit of kube-scheduler, and the kubelet's refusals such as OutOfcpu and OutOfpods
# (docs/filters.md). All pods that have a node and have not ended count, also terminating ones.
#
# Not flagged: nodes that became smaller, or pods that became larger, after the binding; bindings
# of another scheduler within the skew, since neither could know of the other; resources that the
# pod does not request, which kube-scheduler does not check either; resources for which the pod has
# devices, by its status (`extendedResourceClaimStatus`): the rule `devices` judges these.


class Capacity:
    """Judges whether the pods on a node exceed its capacity."""

    name = "capacity"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[Binding] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note the pods on a node when a pod is bound to it."""
        for change in changes:
            pod = change.bound
            if pod is None or not self._limits.judges(pod) or pod.has_ended:
                continue
            self._due.add(change.at, binding_of(pod, change, world, self._limits))
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Compare the pods on a node with the most that the node has offered around that time."""
        for binding in self._due.take(now):
            versions = world.nodes.between(binding.pod.node, *binding.about(self._limits))
            offered = objects.largest(each.allocatable for each in versions if each)
            used = objects.total(e.taken_of_node for e in (binding.pod, *binding.beside))
            for resource, asked in sorted(binding.pod.taken_of_node.items()):
                if asked > 0 and used[resource] > offered.get(resource, 0):
                    yield self._finding(binding, resource, used[resource], offered.get(resource, 0))

    def _finding(self, binding: Binding, resource: str, count: int, offered: int) -> Finding:
        used = objects.shown(resource, count)
        there = objects.shown(resource, offered)
        return Finding(
            binding.at,
            self.name,
            binding.pod.about,
            f"bound to {binding.pod.node}, which has {used} of {there} {resource} then",
            {
                "node": binding.pod.node,
                "resource": resource,
                "used": count,
                "allocatable": offered,
            },
        )


# Rule `filters`: no pod is on a node that rejects it. Source: NodeUnschedulable, NodeAffinity and
# TaintToleration of kube-scheduler, and docs/filters.md for nodes that are not ready. The rule
# judges a pod by all versions that the node had about that time: it is enough if one of them
# accepts the pod. Not flagged: changes of the node after the binding.


class Filters:
    """Judges whether a node admits a pod, for example by its taints."""

    name = "filters"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[tuple[Pod, float, float]] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:  # noqa: ARG002
        """Note bindings."""
        for change in changes:
            if (pod := change.bound) is not None and self._limits.judges(pod):
                self._due.add(change.at, (pod, change.since, change.at))
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Judge bindings by all versions of the node around that time."""
        for pod, since, at in self._due.take(now):
            begin, end = self._limits.decided(since), at + self._limits.skew
            versions = [each for each in world.nodes.between(pod.node, begin, end) if each]
            faults = [fault_of(pod, each) for each in versions] or ["does not exist"]
            if all(faults):
                message = f"bound to {pod.node}, which {faults[-1]}"
                yield Finding(at, self.name, pod.about, message, {"node": pod.node})


def fault_of(pod: Pod, node: Node) -> str:
    """Return why a node rejects a pod, "" if it accepts the pod."""
    if node.is_cordoned and not objects.tolerates(pod, objects.CORDONED):
        return "is cordoned"
    if not node.is_ready and not objects.tolerates(pod, objects.NOT_READY):
        return "is not ready"
    if not objects.wants(pod, node):
        return "does not match its nodeSelector or affinity"
    taint = objects.untolerated(pod, node)
    if taint is not None:
        return f"has the taint {taint.get('key')}={taint.get('value') or ''}:{taint.get('effect')}"
    return ""


# Rule `ports`: no two pods use the same port of a node. Source: NodePorts of kube-scheduler. Not
# flagged: a pod that another scheduler has bound to the node within the skew, since neither could
# know of the other.


class Ports:
    """Judges whether two pods use the same port of a node."""

    name = "ports"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Compare the ports of a bound pod with the ports of other pods on the node."""
        for change in changes:
            pod = change.bound
            if pod is None or not pod.host_ports or not self._limits.judges(pod):
                continue
            for beside in counted(pod, change, world, self._limits):
                if met := _met(pod, beside):
                    ports = ", ".join(met)
                    message = f"bound to {pod.node}, where {beside.key} has host port {ports}"
                    details = {"node": pod.node, "beside": beside.key, "ports": met}
                    yield Finding(change.at, self.name, pod.about, message, details)

    def passed(self, now: float, world: World) -> Iterator[Finding]:  # noqa: ARG002 - a rule's.
        """Judge nothing later."""
        yield from ()


def _met(pod: Pod, other: Pod) -> list[str]:
    return sorted(
        {
            f"{mine.protocol}/{mine.number}"
            for mine in pod.host_ports
            if any(mine.meets(each) for each in other.host_ports)
        }
    )
