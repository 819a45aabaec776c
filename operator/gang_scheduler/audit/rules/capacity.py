"""`capacity`: no binding puts more on a node than the node offers, of any resource.

Source: NodeResourcesFit of kube-scheduler, and what the kubelet refuses as OutOfcpu, OutOfpods and
so on (behaviour of filters: docs/filters.md). All pods that have a node and have not ended count,
terminating ones too.

Not flagged: nodes that became smaller, or pods larger, after the binding; what another scheduler
has bound within the skew, since neither could know of the other; resources that the pod does not
ask for, which kube-scheduler does not look at either.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gang_scheduler.audit.auditor import Limits
from gang_scheduler.audit.due import Due
from gang_scheduler.audit.findings import Finding
from gang_scheduler.audit.objects import quantities
from gang_scheduler.audit.objects.pods import Pod
from gang_scheduler.audit.world import Change, World


class _Binding(NamedTuple):
    pod: Pod
    at: float
    since: float
    used: Mapping[str, int]


class Capacity:
    """What nodes offer, and what is on them."""

    name = "capacity"

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._due: Due[_Binding] = Due(limits.skew)

    def changed(self, changes: Sequence[Change], world: World) -> Iterator[Finding]:
        """Note what is on a node as a pod is bound to it."""
        for change in changes:
            pod = change.bound
            if pod is None or not self._limits.judges(pod) or pod.has_ended:
                continue
            beside = counted(pod, change, world, self._limits)
            used = quantities.total(each.requests for each in (pod, *beside))
            self._due.add(change.at, _Binding(pod, change.at, change.since, used))
        yield from ()

    def passed(self, now: float, world: World) -> Iterator[Finding]:
        """Compare with all that the node has offered about that time."""
        for binding in self._due.take(now):
            skew = self._limits.skew
            begin, end = self._limits.decided(binding.since), binding.at + skew
            versions = world.nodes.between(binding.pod.node, begin, end)
            offered = quantities.largest(each.allocatable for each in versions if each)
            for resource in sorted(binding.pod.requests):
                if self._is_over(binding, resource, offered):
                    yield self._finding(binding, resource, offered.get(resource, 0))

    def _is_over(self, binding: _Binding, resource: str, offered: Mapping[str, int]) -> bool:
        asked = binding.pod.requests[resource]
        return asked > 0 and binding.used[resource] > offered.get(resource, 0)

    def _finding(self, binding: _Binding, resource: str, offered: int) -> Finding:
        used = quantities.shown(resource, binding.used[resource])
        there = quantities.shown(resource, offered)
        return Finding(
            binding.at,
            self.name,
            binding.pod.about,
            f"bound to {binding.pod.node}, which has {used} of {there} {resource} then",
            {
                "node": binding.pod.node,
                "resource": resource,
                "used": binding.used[resource],
                "allocatable": offered,
            },
        )


def counted(pod: Pod, change: Change, world: World, limits: Limits) -> list[Pod]:
    """Return the other pods on the node that the scheduler knew of when it bound a pod.

    These are its own, and those of others that were there for longer than the skew.
    """
    known_by = change.since - limits.skew
    return [
        each
        for each in world.on_node(pod.node)
        if each.uid != pod.uid
        and (limits.judges(each) or world.bound_at.get(each.uid, change.at) <= known_by)
    ]
