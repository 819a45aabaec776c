"""Evictions without a preemptor: members of degraded gangs, and gangs of drained queues."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from gang_scheduler.apply.evictor import Evictor
from gang_scheduler.background_tasks import every
from gang_scheduler.client.writing import Writes
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state import terminating
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.queues import draining
from gang_scheduler.state.queues.draining import Drained
from gang_scheduler.telemetry.logger import Logger

# A degraded gang is evicted whole when its domain has no room for members that replace lost ones.
# This happens only if the settings allow it, and only after the schedule timeout: by then the rest
# of the gang has held its nodes for long without progress. The gang then starts again wherever all
# of it has room.
#
# An eviction that an earlier process began is finished at once, because the pods already have its
# marks.

LOOK_SECONDS: Final = 1.0

log = Logger()


class DegradedEvictions:
    """Hands the evictor gangs that have lacked room for as long as their schedule timeout."""

    def __init__(
        self,
        cache: Cache,
        evictor: Evictor,
        *,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._evictor = evictor
        self._writes = writes
        self._clock = clock
        # Gangs that an earlier process had begun to evict; None before the first look.
        self._begun: set[GangKey] | None = None

    async def run(self) -> None:
        """Look every LOOK_SECONDS, until cancelled."""
        await every(LOOK_SECONDS, self.look, "look for degraded gangs", "all gangs")

    def look(self) -> None:
        """Evict the gangs whose schedule timeout is over."""
        now = int(self._clock())
        self._cache.settle_failed_nodes(now)
        if not self._writes.allowed():
            return
        for info in tuple(self._unfinished()):
            with confined("evict", str(info.key)):
                self._evict(info, info.as_gang(self._cache.schedulers))
        for info, degraded in tuple(self._cache.degraded.all(now)):
            if degraded.refused is not None and self._is_late(info, now):
                with confined("evict", str(info.key)):
                    self._evict(info, degraded.refused.gang)

    def _unfinished(self) -> Iterator[GangInfo]:
        """Yield the gangs whose eviction has begun, but is not finished."""
        if self._begun is None:
            marked = (pod for pod in self._cache.pods() if pod.starting_anew and pod.living)
            self._begun = {pod.gang for pod in marked if pod.node}
        self._begun &= self._cache.gang_queue.infos.keys()
        yield from (self._cache.gang_queue.infos[key] for key in sorted(self._begun))

    def _is_late(self, info: GangInfo, now: int) -> bool:
        since, deadlines = info.losses.no_room_since, self._cache.gang_queue.deadlines
        return since is not None and now >= since + deadlines.timeout_of(info)

    def _evict(self, info: GangInfo, gang: Gang) -> None:
        bound = info.observed.bound()
        # A binding in progress must be finished first.
        if any(pod.assumed for pod in bound):
            return
        log.warning("degraded_gang_evicted", gang=str(info.key), pods=len(bound))
        victims = tuple(terminating.bound_pod(pod, info.key) for pod in bound)
        # Written first: if this raises, nothing is counted.
        self._evictor.submit(Preemption((gang,), (), victims, to_start_anew=True))
        self._cache.victims.decided([pod.uid for pod in bound])
        # If the eviction fails, the gang gets as much time again.
        info.losses.no_room_since = None
        if self._begun is not None:
            self._begun.discard(info.key)


# Queues with `stopPolicy: HoldAndDrain` are drained: the gangs that run in them are evicted one by
# one, in the same stages as for a preemption but without a preemptor. Evictions that failed, or
# that a crash interrupted, are decided again at the next pass. If the queue is no longer drained,
# gangs that have lost no pod yet stay.

DRAIN_SECONDS: Final = 2.0


class Drainer:
    """Evicts the gangs that run in drained queues."""

    def __init__(
        self,
        cache: Cache,
        evictor: Evictor,
        *,
        writes: Writes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._evictor = evictor
        self._writes = writes
        self._clock = clock

    async def run(self) -> None:
        """Look every DRAIN_SECONDS, until cancelled."""
        await every(DRAIN_SECONDS, self.look, "drain", "queues", when=self._writes.allowed)

    def look(self) -> None:
        """Begin to evict the gangs of drained queues, except gangs whose eviction has begun."""
        now = int(self._clock())
        self._evictor.drain_only(draining.queues_of(self._cache, now))
        # A list, since an eviction changes what `drained` iterates over.
        for each in list(draining.drained(self._cache, now)):
            with confined("drain", str(each.gang)):
                self._evict(each, now)

    def _evict(self, gang: Drained, now: int) -> None:
        log.info("gang_drained", gang=str(gang.gang), queue=str(gang.queue), pods=len(gang.pods))
        self._evictor.submit(Preemption((), (), victims=gang.pods, drained=gang.queue))
        self._cache.decisions.shrunk(gang.pods, now)
        self._cache.victims.decided([each.pod.uid for each in gang.pods])
