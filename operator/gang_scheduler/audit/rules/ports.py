"""`ports`: no two pods with one port of the node.

Source: NodePorts of kube-scheduler. Not flagged: a pod that another scheduler has bound to the node
within the skew, since neither could know of the other.
"""

from collections.abc import Iterator, Sequence

from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.bound import counted
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.world import Change, World


class Ports:
    """Ports of nodes that pods take."""

    name = "ports"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Compare the ports of a pod that was bound with those of the pods beside it."""
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
