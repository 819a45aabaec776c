"""Marks and requests that an earlier process left, and that no preemption may need now."""

from collections.abc import Iterator, Sequence

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.queues import draining


class OrphanedMarks:
    """Finds pods that are marked, or asked to save their work, and that no preemption needs.

    After a restart pods may carry a DisruptionTarget of a preemption that is not planned again, or
    a request. Victims get these only after all members of the preemptor are nominated. So once
    every gang with nominated members has been decided, each such pod that no plan names as a victim
    is orphaned; those of drained queues, and of gangs that start anew, once these are so no longer.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._marked: set[str] | None = None
        self._unjudged: set[GangKey] = set()

    def settled(self, plan: Plan, now: int) -> list[Pod]:
        """Return the pods with orphaned marks or requests, once these are certain; empty before.

        `now` is in seconds.
        """
        if self._marked is None:
            self._marked = {pod.uid for pod in self._cache.pods() if self._is_told(pod)}
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
        going = self._that_go(found, now)
        self._marked = {pod.uid for pod in going if self._is_told(pod)}
        return [pod for pod in found if pod.uid not in self._marked]

    def _that_go(self, pods: Sequence[Pod], now: int) -> list[Pod]:
        """Return the pods that may be evicted for no preemptor: it is looked for these later."""
        gangs = {pod.gang for pod in pods if pod.starting_anew}
        gangs |= {each.gang for each in draining.all_in_drained(self._cache, now)}
        # Before they start anew, degraded gangs are asked to save; then their marks say so.
        asked = {info.key for info, _ in self._cache.degraded.all(now)}
        return [pod for pod in pods if pod.gang in (gangs if pod.marked else gangs | asked)]

    def _is_told(self, pod: Pod) -> bool:
        """Return whether a running pod says that it is to be evicted."""
        told = pod.marked or self._cache.checkpoints.standing_on(pod) is not None
        return told and pod.living and bool(pod.node)

    def _nominated_gangs(self) -> Iterator[GangKey]:
        for key, info in self._cache.gang_queue.infos.items():
            if any(pod.nominated and not pod.node for pod in info.observed.living):
                yield key
