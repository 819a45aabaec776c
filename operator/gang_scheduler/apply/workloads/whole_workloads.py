"""Suspends a workload whose pods are all victims, instead of deleting its pods.

Its controller then ends the pods and counts no failure. If a workload loses only some of its pods,
for example surplus members, these pods are deleted one by one.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

from gang_scheduler.apply.preemption_run import Step
from gang_scheduler.client.backoff import Denials
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.writing import RACED
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import PodRef
from gang_scheduler.model.suspended import ManagedWorkload
from gang_scheduler.telemetry.logger import Logger

Suspend = Callable[[ManagedWorkload], Awaitable[bool]]
"""Suspends a workload; returns whether that ends its pods. Raises ApiError."""

log = Logger()


class ManagedPods(Protocol):
    """The pods of workloads that were admitted, and that the scheduler may suspend."""

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the workload of a pod; None if it has no such workload."""

    def pods_of(self, workload: ManagedWorkload) -> Iterable[Pod]:
        """Return the pods of a workload that exist."""


class _NoneManaged:
    """No workload was admitted, so no pod belongs to one."""

    def workload_of(self, _: Pod) -> ManagedWorkload | None:
        """Return None."""
        return None

    def pods_of(self, _: ManagedWorkload) -> Iterable[Pod]:
        """Return nothing."""
        return ()


NONE_MANAGED: Final = _NoneManaged()


async def suspend_nothing(_: ManagedWorkload) -> bool:
    """Return False: for clusters in which no workload is managed."""
    return False


class WholeWorkloads:
    """Makes the steps that suspend workloads. `eviction` is the step that deletes one pod."""

    def __init__(
        self, managed: ManagedPods, suspend: Suspend, eviction: Callable[[Pod], Step]
    ) -> None:
        self._managed = managed
        self._suspend = suspend
        self._eviction = eviction
        self._denials = Denials()

    def suspensions(self, victims: Sequence[Pod], begun: set[str]) -> Iterator[Step]:
        """Yield a step for each workload that is evicted as a whole.

        The step has the first victim as its pod, and ends the other victims, too. `begun` gets the
        uids of all of them before the first request.
        """
        for workload, pods in among(victims, self._managed):
            yield self._suspension(workload, pods, begun)

    def _suspension(self, workload: ManagedWorkload, pods: Sequence[Pod], begun: set[str]) -> Step:
        async def suspend(_: PodRef) -> None:
            if not await self._is_suspended(workload):
                for pod in pods:
                    await self._delete(pod)

        others = frozenset(pod.uid for pod in pods[1:])
        return Step("suspend", pods[0], suspend, RACED, begun, final=True, also_ended=others)

    async def _is_suspended(self, workload: ManagedWorkload) -> bool:
        """Suspend a workload; return whether that ends its pods. Raises ApiError."""
        try:
            return await self._suspend(workload)
        except ApiError as error:
            refused = error.kind in (Kind.REFUSED, Kind.DENIED)
            if not refused or self._denials.may_pass(error, workload.uid):
                raise
            log.warning("suspension_refused", workload=str(workload), error=str(error))
            return False

    async def _delete(self, pod: Pod) -> None:
        """Delete a pod, unless it is gone or replaced by another. Raises ApiError."""
        step = self._eviction(pod)
        try:
            await step.request(PodRef(pod.namespace, pod.name, pod.uid))
        except ApiError as error:
            if error.kind not in (Kind.GONE, Kind.CONFLICT):
                raise


def among(
    victims: Sequence[Pod], managed: ManagedPods
) -> Iterator[tuple[ManagedWorkload, tuple[Pod, ...]]]:
    """Yield the workloads whose pods on nodes are all victims, each with its victims.

    They are in the order of their first victims.
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
    """Return whether a pod takes room that it would keep."""
    return bool(pod.node) and pod.living
