"""Victims that are all the pods of a workload: it is suspended, and none of them is deleted.

Its controller then ends the pods and counts no failure. A workload that loses only some pods, as
surplus, keeps the others: of these each is deleted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.suspended import ManagedWorkload


class ManagedPods(Protocol):
    """The pods of workloads that were admitted, and are ours to suspend."""

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the workload of a pod; None for a pod of any other."""

    def pods_of(self, workload: ManagedWorkload) -> Iterable[Pod]:
        """Return the pods of a workload, as far as they are there."""


class _NoneManaged:
    """No pod is of a workload that was admitted."""

    def workload_of(self, _: Pod) -> ManagedWorkload | None:
        """Return None."""
        return None

    def pods_of(self, _: ManagedWorkload) -> Iterable[Pod]:
        """Return nothing."""
        return ()


NONE_MANAGED: Final = _NoneManaged()


def among(
    victims: Sequence[Pod], managed: ManagedPods
) -> Iterator[tuple[ManagedWorkload, tuple[Pod, ...]]]:
    """Yield the workloads of which no pod with a node is left besides victims, with these.

    In the order of their first victims.
    """
    found: dict[ManagedWorkload, list[Pod]] = {}
    for pod in victims:
        workload = managed.workload_of(pod)
        if workload is not None:
            found.setdefault(workload, []).append(pod)
    going = {pod.uid for pod in victims}
    for workload, pods in found.items():
        if all(pod.uid in going for pod in managed.pods_of(workload) if _stays(pod)):
            yield workload, tuple(pods)


def _stays(pod: Pod) -> bool:
    """Return whether a pod has room that it would keep."""
    return bool(pod.node) and pod.living
