"""Marks that an earlier process of the scheduler left, and that no preemption may need now."""

from collections.abc import Iterator

from gang_scheduler.model.plan import Plan
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache


class OrphanedMarks:
    """Finds marked pods that no preemption needs.

    After a restart pods may carry a DisruptionTarget of a preemption that is not planned again.
    Victims are marked only after all members of the preemptor are nominated. So once every gang
    with nominated members has been decided, each marked pod that no plan names as a victim is
    orphaned.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._marked: set[str] | None = None
        self._unjudged: set[GangKey] = set()

    def settled(self, plan: Plan) -> set[str]:
        """Return the uids of pods with orphaned marks, once these are certain; empty before."""
        if self._marked is None:
            pods = self._cache.pods()
            self._marked = {pod.uid for pod in pods if pod.marked and pod.living and pod.node}
            self._unjudged = set(self._nominated_gangs())
        if not self._marked:
            return self._marked
        self._marked -= {each.pod.uid for made in plan.preemptions for each in made.victims}
        self._unjudged -= {placed.gang.key for placed in plan.placed}
        self._unjudged -= {refused.gang.key for refused in plan.refused}
        self._unjudged &= self._cache.gang_queue.infos.keys()
        if self._unjudged:
            return set()
        found, self._marked = self._marked, set()
        return found

    def _nominated_gangs(self) -> Iterator[GangKey]:
        for key, info in self._cache.gang_queue.infos.items():
            if any(pod.nominated and not pod.node for pod in info.observed.living):
                yield key
