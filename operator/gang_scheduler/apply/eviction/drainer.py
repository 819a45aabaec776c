"""Drains queues with `stopPolicy: HoldAndDrain`: evicts what runs in them, gang by gang.

By the same stages as a preemption, without a gang that room is made for. What could not be evicted
is decided on again at the next look, and so is what a crash left. Of a queue that is drained no
longer, gangs stay that no pod was evicted of yet.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from gang_scheduler.apply.eviction.evictor import Evictor
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.plan import Preemption
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.queues import draining
from gang_scheduler.state.queues.draining import Drained
from gang_scheduler.telemetry.logger import Logger

LOOK_SECONDS: Final = 2.0

log = Logger()


class Drainer:
    """Looks for gangs in drained queues, while `may_write()` says that we are the leader."""

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
            if self._may_write():
                with confined("drain", "queues"):
                    self.look()

    def look(self) -> None:
        """Begin to evict all gangs that must go and that no earlier look has begun to evict."""
        now = int(self._clock())
        self._evictor.drain_only(draining.queues_of(self._cache, now))
        # A list: to evict a gang changes what is looked at.
        for each in list(draining.drained(self._cache, now)):
            with confined("drain", str(each.gang)):
                self._evict(each, now)

    def _evict(self, gang: Drained, now: int) -> None:
        log.info("gang_drained", gang=str(gang.gang), queue=str(gang.queue), pods=len(gang.pods))
        self._evictor.submit(Preemption((), (), victims=gang.pods, drained=gang.queue))
        self._cache.gang_queue.decisions.shrunk(gang.pods, now)
        self._cache.victims.decided([each.pod.uid for each in gang.pods])
