"""`filters`: no pod on a node that does not take it.

Source: NodeUnschedulable, NodeAffinity and TaintToleration of kube-scheduler, and docs/filters.md
for nodes that are not ready. A pod is judged by all versions that the node had about that time: one
that takes the pod is enough.

Not flagged: what changed of the node after the binding.
"""

from collections.abc import Iterator, Sequence

from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.objects import selectors
from gang_scheduler.audit.objects.nodes import Node
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.world import Change, World


class Filters:
    """What nodes say of which pods they take."""

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
        """Judge by all versions of the node about that time."""
        for pod, since, at in self._due.take(now):
            begin, end = self._limits.decided(since), at + self._limits.skew
            versions = [each for each in world.nodes.between(pod.node, begin, end) if each]
            faults = [fault_of(pod, each) for each in versions] or ["does not exist"]
            if all(faults):
                message = f"bound to {pod.node}, which {faults[-1]}"
                yield Finding(at, self.name, pod.about, message, {"node": pod.node})


def fault_of(pod: Pod, node: Node) -> str:
    """Return why a node does not take a pod, "" if it does."""
    if node.is_cordoned and not selectors.tolerates(pod, selectors.CORDONED):
        return "is cordoned"
    if not node.is_ready and not selectors.tolerates(pod, selectors.NOT_READY):
        return "is not ready"
    if not selectors.wants(pod, node):
        return "does not match its nodeSelector or affinity"
    taint = selectors.untolerated(pod, node)
    if taint is not None:
        return f"has the taint {taint.get('key')}={taint.get('value') or ''}:{taint.get('effect')}"
    return ""
