"""Evicts gangs whole whose domain has no room for members that replace lost ones.

Only if the settings say so, and after the schedule timeout: by then the rest of the gang has held
its nodes for nothing for long. It starts anew where there is room for all of it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

import structlog

from gang_scheduler.apply.evictor import Evictor
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.degraded import Degraded
from gang_scheduler.model.plan import Preemption
from gang_scheduler.state import terminating
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.gang_info import GangInfo

LOOK_SECONDS: Final = 1.0

log = structlog.get_logger()


class DegradedEvictions:
    """Hands gangs to the evictor that were without room for as long as their schedule timeout."""

    def __init__(
        self,
        cache: Cache,
        evictor: Evictor,
        *,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._evictor = evictor
        self._may_write = may_write
        self._clock = clock

    async def run(self) -> None:
        """Look every LOOK_SECONDS, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with confined("look for degraded gangs", "all gangs"):
                self.look()

    def look(self) -> None:
        """Evict the gangs that are late by now."""
        now = int(self._clock())
        self._cache.settle_failed_nodes(now)
        for info, degraded in tuple(self._cache.degraded.all(now)):
            if self._is_late(info, degraded, now) and self._may_write():
                with confined("evict", str(info.key)):
                    self._evict(info, degraded)

    def _is_late(self, info: GangInfo, degraded: Degraded, now: int) -> bool:
        since = info.losses.no_room_since
        if degraded.refused is None or since is None:
            return False
        return now >= since + self._cache.gang_queue.timeout_of(info)

    def _evict(self, info: GangInfo, degraded: Degraded) -> None:
        bound = info.observed.bound()
        # A binding that is under way must be finished first.
        if degraded.refused is None or any(pod.assumed for pod in bound):
            return
        log.warning("degraded_gang_evicted", gang=str(info.key), pods=len(bound))
        victims = tuple(terminating.bound_pod(pod, info.key) for pod in bound)
        gangs = (degraded.refused.gang,)
        # Written first: if this raises, nothing is counted.
        self._evictor.submit(Preemption(gangs, (), victims, to_start_anew=True))
        self._cache.victims.decided([pod.uid for pod in bound])
        # Should the eviction fail, the gang is given as much time again.
        info.losses.no_room_since = None
