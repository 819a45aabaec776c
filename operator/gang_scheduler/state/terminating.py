"""The pods that leave their nodes in any case: terminating pods, and victims.

A victim counts as leaving from the decision on, before the API server shows it. Plans then use its
room, and no other pod is evicted for the same purpose. A pod's spec says how long it may take to
end. If it takes longer than gangs wait for, plans count it as staying.
"""

from collections.abc import Collection, Iterator
from typing import Final

from gang_scheduler.model import refs
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, natural_key
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules

PATIENCE_SECONDS: Final = 30
"""A terminating pod still counts as leaving for this long after its grace period."""
REPORTING_SECONDS: Final = 10
"""A victim counts as leaving for this much longer than its timeout, so it is reported first."""


# The time that a deleted pod may take to end. A pod that takes longer than
# `max_termination_seconds` counts as staying. Victims get at most that long, or
# `max_grace_period_seconds` if their queue gives them more.


def stays(pod: Pod, now: int, rules: PreemptionRules, *, is_victim: bool) -> bool:
    """Return whether a pod that is being deleted takes longer to end than gangs wait for it."""
    longest = _longest(rules, is_victim=is_victim)
    return pod.deleting and pod.gone_by > now + longest + PATIENCE_SECONDS


def charged_until(pod: Pod, rules: PreemptionRules) -> int:
    """Return until when a pod that is being deleted is charged, in seconds; 0 means always.

    After that time the pod is not charged: a kubelet that fails to remove it must not cost quota.
    """
    if not pod.gone_by:
        return 0
    longest = _longest(rules, is_victim=pod.marked_as_victim)
    ends_at = min(pod.gone_by, pod.deleted_at + longest) if pod.deleted_at else pod.gone_by
    return ends_at + PATIENCE_SECONDS


def is_late(pod: Pod, rules: PreemptionRules) -> bool:
    """Return whether a pod requests more time to end than a victim gets."""
    return pod.grace_seconds > rules.max_termination_seconds


def _longest(rules: PreemptionRules, *, is_victim: bool) -> int:
    longest = rules.max_termination_seconds
    return max(longest, rules.max_grace_period_seconds) if is_victim else longest


class Leaving:
    """The leaving pods. A victim of ours counts as stuck only after the victim timeout.

    Every `now` is in seconds since the epoch.
    """

    def __init__(self, rules: PreemptionRules = NO_SETTINGS.preemption) -> None:
        patience = rules.victim_timeout_seconds + REPORTING_SECONDS
        self._victim_patience = max(PATIENCE_SECONDS, patience)
        self._rules = rules
        self._pods: dict[str, tuple[Pod, GangKey | None]] = {}
        self._decided: set[str] = set()
        self._asked_to_hurry: dict[str, int] = {}
        self._chosen: dict[str, str] = {}

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def upsert(self, pod: Pod, gang: GangKey | None) -> None:
        """Note a pod on a node; without a gang the pod is another scheduler's."""
        self._chosen.pop(pod.uid, None)
        if self._asked_to_hurry.get(pod.uid) != pod.gone_by:
            self._asked_to_hurry.pop(pod.uid, None)
        if pod.deleting or pod.uid in self._decided:
            self._pods[pod.uid] = (pod, gang)
        elif pod.marked_as_victim or (pod.checkpoint is not None and pod.is_victim):
            self._chosen[pod.uid] = pod.node

    def delete(self, uid: str) -> None:
        """Forget a pod that is no longer on a node."""
        self._pods.pop(uid, None)
        self._chosen.pop(uid, None)
        self._decided.discard(uid)
        self._asked_to_hurry.pop(uid, None)

    def decided(self, pod: Pod, gang: GangKey | None) -> None:
        """Note that a pod is a victim; a terminating pod will be told to end sooner."""
        self._decided.add(pod.uid)
        if pod.deleting:
            self._asked_to_hurry[pod.uid] = pod.gone_by
        self._chosen.pop(pod.uid, None)
        self._pods[pod.uid] = (pod, gang)

    def spared(self, uid: str) -> Pod | None:
        """Note that a pod is no longer a victim; return the pod if it stays on its node."""
        self._decided.discard(uid)
        self._asked_to_hurry.pop(uid, None)
        pod, _ = self._pods.get(uid, (None, None))
        if pod is None or pod.deleting:
            return None
        _, gang = self._pods.pop(uid)
        self.upsert(pod, gang)
        return pod

    def is_awaited(self, uid: str, now: int) -> bool:
        """Return whether a pod is leaving, and is not stuck: gangs may wait for its room."""
        pod, _ = self._pods.get(uid, (None, None))
        return pod is not None and self._leaves(pod, now)

    def on(self, nodes: Collection[str], now: int) -> Iterator[Pod]:
        """Yield the pods on some nodes that are leaving and not stuck."""
        there = (pod for pod, _ in self._pods.values() if pod.node in nodes)
        return (pod for pod in there if self._leaves(pod, now))

    def has_victims_on(self, nodes: Collection[str]) -> bool:
        """Return whether pods on some nodes are victims of an earlier process, not evicted yet."""
        return any(node in nodes for node in self._chosen.values())

    def bound_pods(self, now: int) -> tuple[BoundPod, ...]:
        """Return the pods that are leaving and not stuck, in natural order of their names."""
        awaited = (each for each in self._pods.values() if self._leaves(each[0], now))
        return tuple(bound_pod(*each) for each in sorted(awaited, key=_order))

    def not_deleted(self) -> Iterator[Pod]:
        """Yield the victims that the API server does not show as leaving yet."""
        return (pod for pod, _ in self._pods.values() if not pod.deleting)

    def stays(self, uid: str, now: int) -> bool:
        """Return whether a pod is being deleted, but ends too late for plans to use its room."""
        pod, _ = self._pods.get(uid, (None, None))
        return pod is not None and self._stays(pod, now)

    def staying(self, now: int) -> Iterator[tuple[Pod, GangKey | None]]:
        """Yield the pods that are being deleted, but take longer to end than gangs wait."""
        return (each for each in self._pods.values() if self._stays(each[0], now))

    def _leaves(self, pod: Pod, now: int) -> bool:
        return not (self._hangs(pod, now) or self._stays(pod, now))

    def _stays(self, pod: Pod, now: int) -> bool:
        if pod.uid in self._asked_to_hurry:
            return False
        is_victim = pod.marked_as_victim or pod.uid in self._decided
        return stays(pod, now, self._rules, is_victim=is_victim)

    def _hangs(self, pod: Pod, now: int) -> bool:
        """Return whether a pod is stuck in termination, and should long be gone."""
        is_ours = pod.marked_as_victim or pod.uid in self._decided
        patience = self._victim_patience if is_ours else PATIENCE_SECONDS
        return pod.deleting and 0 < pod.gone_by < now - patience


def bound_pod(pod: Pod, gang: GangKey | None) -> BoundPod:
    """Return a bound pod that is not evictable; a pod without a gang is a gang of one."""
    return BoundPod(pod, gang or alone(pod), evictable=False)


def alone(pod: Pod) -> GangKey:
    """Return the gang of one for a pod of another scheduler."""
    return GangKey(refs.SINGLE.name, pod.namespace, pod.name)


def _order(each: tuple[Pod, GangKey | None]) -> tuple[object, ...]:
    pod, _ = each
    return natural_key(pod.namespace), natural_key(pod.name), pod.uid
