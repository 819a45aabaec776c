"""Deletes pods without an eviction: members of partially bound gangs, and stuck members.

A gang that a crash left with fewer nodes than its `minMember` would hold those nodes in vain.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.apply import disruption_target
from gang_scheduler.background_tasks import Workers, every
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode import fields
from gang_scheduler.model.failures import DegradedReason
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, PodRef
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.family import Values
from gang_scheduler.telemetry.logger import Logger

# A gang is partially bound only after a crash, or after the API server refused a binding. If the
# settings say so, its bound members are deleted once the other members have found no room in time.
# By default (`Hold`) they stay and wait: deleting running pods is the administrator's decision.

log = Logger()


class PartialGangs(Workers[GangKey]):
    """Deletes the bound members of gangs that stay partially bound past their schedule timeout."""

    def __init__(self, api: Api, cache: Cache, writes: Writes) -> None:
        super().__init__("gangs to release", "release")
        self._api = api
        self._cache = cache
        self._writes = writes
        self._queued: set[GangKey] = set()

    def consider(self, refused: Iterable[Refused], now: int) -> None:
        """Queue the refused gangs that are late and partially bound. `now` is in seconds."""
        for key in (each.gang.key for each in refused if each.gang.partially_bound):
            info = self._cache.gang_queue.infos.get(key)
            deadline = self._cache.gang_queue.deadlines.of(info) if info else None
            if deadline is not None and now >= deadline and key not in self._queued:
                self._queued.add(key)
                self.submit(key)

    def namespace_of(self, item: GangKey) -> str:
        """Return the namespace of the gang."""
        return item.namespace

    async def work(self, item: GangKey) -> None:
        """Delete the bound members of a gang, unless it has become whole since."""
        self._queued.discard(item)
        info = self._cache.gang_queue.infos.get(item)
        if info is None or info.attempt.was_whole:
            return
        bound = [pod for pod in info.observed.living if pod.node and not pod.assumed]
        if not bound:  # Only other gangs of its group are bound.
            return
        if self._writes.allowed():
            log.warning("gang_released", gang=str(item), pods=len(bound))
        for pod in bound:
            target = PodRef(pod.namespace, pod.name, pod.uid)
            refusal = await self._writes.send("pod_delete", partial(self._api.delete_pod, target))
            if refusal is not None and not refusal.is_gone:
                # The gang is refused again before long, and then considered again.
                log.warning("release_failed", pod=pod.key, error=str(refusal.error))


# Members on failed nodes that do not terminate are removed by force if that is allowed. Such a pod
# may still run if its node only lost the network, and then it runs next to its replacement. So the
# administrator must allow it (a setting), and so must the owner of the gang (an annotation). The
# node must have failed for the longer of the two times they set.

LOOK_SECONDS: Final = 1.0
AGAIN_SECONDS: Final = 10
"""The pause before a pod that still exists is removed again."""


class StuckMembers:
    """Removes members that are stuck on failed nodes, at the earliest after `seconds`; 0: never."""

    def __init__(
        self,
        api: Api,
        cache: Cache,
        seconds: int,
        *,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._cache = cache
        self._seconds = seconds
        self._writes = writes
        self._clock = clock
        self._tried: dict[str, int] = {}

    async def run(self) -> None:
        """Look every LOOK_SECONDS, until cancelled."""
        await every(LOOK_SECONDS, self.look, "look for stuck pods", "all gangs")

    async def look(self) -> None:
        """Find nodes that have failed; remove the pods that may be removed."""
        now = int(self._clock())
        self._cache.find_gone_nodes()
        self._cache.settle_failed_nodes(now)
        stuck = tuple(self._cache.degraded.stuck(now))
        metrics.PODS_STUCK.set(len(stuck))
        metrics.DEGRADED_GANGS.show(self._degraded(now))
        for pod in stuck:
            due = self._due(pod)
            if due is not None and now >= due and self._is_to_be_tried(pod, now):
                await self._remove(pod, now)
        there = {pod.uid for pod in stuck}
        self._tried = {uid: at for uid, at in self._tried.items() if uid in there}

    def _degraded(self, now: int) -> Iterator[tuple[Values, float]]:
        """Yield the number of degraded gangs for each reason in the DegradedDomain condition."""
        found = Counter(each.reason for _, each in self._cache.degraded.all(now))
        yield from (((each.value,), found[each]) for each in DegradedReason)

    def _due(self, pod: Pod) -> int | None:
        """Return when a pod may be removed, in seconds since the epoch; None for never."""
        allowed, failed = self._allowed(pod), self._cache.failed_nodes.get(pod.node)
        if not self._seconds or allowed is None or failed is None:
            return None
        return max(pod.gone_by, failed.since) + max(self._seconds, allowed)

    def _allowed(self, pod: Pod) -> int | None:
        """Return after how many seconds the owner allows a pod to be removed; None for never."""
        if annotations.FORCE_DELETE_STUCK_PODS in pod.annotations:
            try:
                return fields.duration(pod.annotations, annotations.FORCE_DELETE_STUCK_PODS)
            except InvalidField:
                return None
        info = self._cache.gang_queue.infos.get(pod.gang)
        spec = info.observed.spec if info is not None else None
        return None if spec is None else spec.options.force_delete_seconds

    def _is_to_be_tried(self, pod: Pod, now: int) -> bool:
        return now - self._tried.get(pod.uid, -AGAIN_SECONDS) >= AGAIN_SECONDS

    async def _remove(self, pod: Pod, now: int) -> None:
        if not self._writes.allowed():
            return
        self._tried[pod.uid] = now
        log.warning("stuck_pod_removed", pod=pod.key, node=pod.node, gang=str(pod.gang))
        target = PodRef(pod.namespace, pod.name, pod.uid)

        async def remove() -> None:
            await self._api.delete_pod(target, grace_seconds=0)
            # A pod of a Job stays even then, until the Job has counted it: as failed, like every
            # pod that Kubernetes removes from a failed node.
            if pod.job_uid and self._writes.allowed():
                await self._api.fail_pod(target, disruption_target.stuck(pod.node, now))

        refusal = await self._writes.send("pod_force_delete", remove)
        if refusal is not None and not refusal.is_gone:
            log.warning("stuck_pod_stays", pod=pod.key, error=str(refusal.error))
