"""`capacity`: no binding puts more on a node than the node offers, of any resource.

Source: NodeResourcesFit of kube-scheduler, and what the kubelet refuses as OutOfcpu, OutOfpods and
so on (behaviour of filters: docs/filters.md). All pods that have a node and have not ended count,
terminating ones too.

Not flagged: nodes that became smaller, or pods larger, after the binding; what another scheduler
has bound within the skew, since neither could know of the other; resources that the pod does not
ask for, which kube-scheduler does not look at either.
"""

from collections.abc import Iterator, Sequence

from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.bound import Binding, binding_of
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.objects import quantities
from gang_scheduler.audit.world import Change, World


class Capacity:
    """What nodes offer, and what is on them."""

    name = "capacity"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[Binding] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note what is on a node as a pod is bound to it."""
        for change in changes:
            pod = change.bound
            if pod is None or not self._limits.judges(pod) or pod.has_ended:
                continue
            self._due.add(change.at, binding_of(pod, change, world, self._limits))
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Compare with all that the node has offered about that time."""
        for binding in self._due.take(now):
            versions = world.nodes.between(binding.pod.node, *binding.about(self._limits))
            offered = quantities.largest(each.allocatable for each in versions if each)
            used = quantities.total(e.requests for e in (binding.pod, *binding.beside))
            for resource, asked in sorted(binding.pod.requests.items()):
                if asked > 0 and used[resource] > offered.get(resource, 0):
                    yield self._finding(binding, resource, used[resource], offered.get(resource, 0))

    def _finding(self, binding: Binding, resource: str, count: int, offered: int) -> Finding:
        used = quantities.shown(resource, count)
        there = quantities.shown(resource, offered)
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
