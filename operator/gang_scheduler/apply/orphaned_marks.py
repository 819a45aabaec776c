"""Marks that an earlier life of the scheduler left, for plans that may not be made again."""

from collections.abc import Iterator

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.model.plan import Plan
from gang_scheduler.state.cache import Cache


class OrphanedMarks:
    """Finds out who was marked for nobody.

    Victims are marked when all members of the preemptor are nominated. So only when each gang that
    has nominated members has had a verdict, who is a victim of none of these plans is one no more.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._marked: set[str] | None = None
        self._unjudged: set[GangKey] = set()

    def settled(self, plan: Plan) -> set[str]:
        """Return the uids of those who were marked for nobody, once it is certain."""
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
            if any(pod.nominated and not pod.node for pod in info.living()):
                yield key
