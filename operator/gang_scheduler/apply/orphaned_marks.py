"""Marks of victims, and requests to save, that an earlier process left and no preemption needs."""

from collections.abc import Iterator, Sequence

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.queues import draining


class OrphanedMarks:
    """Finds pods that are marked for eviction, or asked to save, although no preemption needs them.

    After a restart, pods may carry the DisruptionTarget condition or the request of a preemption
    that is not planned again. Victims get these only after all members of the preemptor are
    nominated. So once every gang with nominated members has been decided, each such pod that is no
    victim in a plan is orphaned. A pod of a drained queue, or of a gang that is evicted to start
    again, is orphaned once the queue is no longer drained, or the gang no longer evicted.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._marked: set[str] | None = None
        self._unjudged: set[GangKey] = set()

    def settled(self, plan: Plan, now: int) -> list[Pod]:
        """Return the pods with orphaned marks or requests; nothing until these are certain.

        `now` is in seconds.
        """
        if self._marked is None:
            self._marked = {pod.uid for pod in self._cache.pods() if self._is_marked_or_asked(pod)}
            self._unjudged = set(self._nominated_gangs())
        if not self._marked:
            return []
        self._marked -= {each.pod.uid for made in plan.preemptions for each in made.victims}
        self._unjudged -= {placed.gang.key for placed in plan.placed}
        self._unjudged -= {refused.gang.key for refused in plan.refused}
        self._unjudged &= self._cache.gang_queue.infos.keys()
        if self._unjudged:
            return []
        found = [pod for uid in sorted(self._marked) if (pod := self._cache.pod(uid)) is not None]
        leaving = self._evictable_without_preemptor(found, now)
        self._marked = {pod.uid for pod in leaving if self._is_marked_or_asked(pod)}
        return [pod for pod in found if pod.uid not in self._marked]

    def _evictable_without_preemptor(self, pods: Sequence[Pod], now: int) -> list[Pod]:
        """Return the pods that may be evicted without a preemptor: other parts handle them."""
        gangs = {pod.gang for pod in pods if pod.starting_anew}
        gangs |= {each.gang for each in draining.all_in_drained(self._cache, now)}
        # A degraded gang is asked to save before its eviction; its pods are marked later.
        asked = {info.key for info, _ in self._cache.degraded.all(now)}
        return [
            pod for pod in pods if pod.gang in (gangs if pod.marked_as_victim else gangs | asked)
        ]

    def _is_marked_or_asked(self, pod: Pod) -> bool:
        """Return whether a running pod is marked or asked as a future victim."""
        notified = pod.marked_as_victim or self._cache.checkpoints.standing_on(pod) is not None
        return notified and pod.living and bool(pod.node)

    def _nominated_gangs(self) -> Iterator[GangKey]:
        for key, info in self._cache.gang_queue.infos.items():
            if any(pod.nominated and not pod.node for pod in info.observed.living):
                yield key
