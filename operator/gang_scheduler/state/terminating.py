"""The pods that leave their nodes in any case: pods that terminate, and victims.

A victim counts as leaving from the decision on, before the API server shows it: its room is planned
with, and no other pod is evicted for the same purpose.
"""

from collections.abc import Collection, Iterator
from typing import Final

from gang_scheduler.model import gang_sources
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey

PATIENCE_SECONDS: Final = 30
"""How long after its grace period a terminating pod still counts as leaving."""
REPORTING_SECONDS: Final = 10
"""How much longer than its timeout a victim counts as leaving, so that it is reported first."""


class Leaving:
    """The pods that leave. Our victims are late after `victim_timeout_seconds`.

    `now` is in seconds since the epoch everywhere here.
    """

    def __init__(self, victim_timeout_seconds: int) -> None:
        self._victim_patience = max(PATIENCE_SECONDS, victim_timeout_seconds + REPORTING_SECONDS)
        self._pods: dict[str, tuple[Pod, GangKey | None]] = {}
        self._decided: set[str] = set()
        self._chosen: dict[str, str] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def upsert(self, pod: Pod, gang: GangKey | None) -> None:
        """Note a pod on a node; without a gang the pod is another scheduler's."""
        self._chosen.pop(pod.uid, None)
        if pod.deleting or pod.uid in self._decided:
            self._pods[pod.uid] = (pod, gang)
        elif pod.marked or (pod.checkpoint is not None and pod.chosen):
            self._chosen[pod.uid] = pod.node

    def delete(self, uid: str) -> None:
        """Forget a pod that is on no node any more."""
        self._pods.pop(uid, None)
        self._chosen.pop(uid, None)
        self._decided.discard(uid)

    def decided(self, pod: Pod, gang: GangKey | None) -> None:
        """Note that a pod is a victim."""
        self._decided.add(pod.uid)
        self._chosen.pop(pod.uid, None)
        self._pods[pod.uid] = (pod, gang)

    def spared(self, uid: str) -> Pod | None:
        """Note that a pod is no victim any more; return the pod if it stays on its node."""
        self._decided.discard(uid)
        pod, _ = self._pods.get(uid, (None, None))
        if pod is None or pod.deleting:
            return None
        _, gang = self._pods.pop(uid)
        self.upsert(pod, gang)
        return pod

    def is_awaited(self, uid: str, now: int) -> bool:
        """Return whether a pod leaves, and is not stuck: gangs may wait for its room."""
        pod, _ = self._pods.get(uid, (None, None))
        return pod is not None and not self._hangs(pod, now)

    def on(self, nodes: Collection[str], now: int) -> Iterator[Pod]:
        """Yield the pods on some nodes that leave and are not stuck."""
        there = (pod for pod, _ in self._pods.values() if pod.node in nodes)
        return (pod for pod in there if not self._hangs(pod, now))

    def is_interrupted_on(self, nodes: Collection[str]) -> bool:
        """Return whether pods on some nodes were chosen before a restart and not evicted yet."""
        return any(node in nodes for node in self._chosen.values())

    def bound_pods(self, now: int) -> tuple[BoundPod, ...]:
        """Return the pods that leave and are not stuck, in natural order of their names."""
        awaited = (each for each in self._pods.values() if not self._hangs(each[0], now))
        return tuple(bound_pod(*each) for each in sorted(awaited, key=_order))

    def not_deleted(self) -> Iterator[Pod]:
        """Yield the victims that the API server does not show as leaving yet."""
        return (pod for pod, _ in self._pods.values() if not pod.deleting)

    def _hangs(self, pod: Pod, now: int) -> bool:
        """Return whether a pod is stuck in termination, and should long be gone."""
        is_ours = pod.marked or pod.uid in self._decided
        patience = self._victim_patience if is_ours else PATIENCE_SECONDS
        return pod.deleting and 0 < pod.gone_by < now - patience


def bound_pod(pod: Pod, gang: GangKey | None) -> BoundPod:
    """Return a bound pod that is not evictable; without a gang the pod is a gang of one."""
    return BoundPod(pod, gang or alone(pod), evictable=False)


def alone(pod: Pod) -> GangKey:
    """Return the gang of one that a pod of another scheduler is."""
    return GangKey(gang_sources.SINGLE.name, pod.namespace, pod.name)


def _order(each: tuple[Pod, GangKey | None]) -> tuple[object, ...]:
    pod, _ = each
    return natural_key(pod.namespace), natural_key(pod.name), pod.uid
