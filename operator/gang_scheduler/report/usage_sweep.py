"""Compares what queues are charged with a sum made anew, now and then: it must be the same.

A difference is an error of ours. It is put right, logged and counted, so that it is found.
"""

import asyncio
from typing import Final

from gang_scheduler.internal_errors import confined
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

SWEEP_SECONDS: Final = 300.0

log = Logger()


class UsageSweep:
    """Compares at an interval."""

    def __init__(self, cache: Cache, interval_seconds: float = SWEEP_SECONDS) -> None:
        self._cache = cache
        self._interval = interval_seconds

    async def run(self) -> None:
        """Compare until cancelled."""
        while True:
            await asyncio.sleep(self._interval)
            with confined("sweep", "queue usage"):
                self.sweep()

    def sweep(self) -> None:
        """Compare once. Linear in pods, and nothing without queues."""
        number = self._cache.usage_differences()
        if number:
            metrics.USAGE_DIFFERENCES.inc(number)
            log.error("queue_usage_differs", figures=number)
