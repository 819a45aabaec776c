"""Figures of queues: computed for statuses and metrics, and checked against a sum over pods."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import anyio

from gang_scheduler import queue_figures
from gang_scheduler.background_tasks import every
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.rules import Rules
from gang_scheduler.report.queues.gang_texts import QueuePlaces
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.report.queues.status import QueueWriter
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

LEAST_SECONDS: Final = 1.0
LAST_SECONDS: Final = 30.0
"""Figures are also computed this often without a change, because waiting gangs age."""
LARGEST_PART: Final = 0.05
"""At most this part of the time is spent on figures, however many queues there are."""


class QueueReports:
    """Writes figures after cycles, at most once in LEAST_SECONDS. Does nothing without queues."""

    def __init__(
        self,
        cache: Cache,
        rules: Rules,
        *,
        writer: QueueWriter,
        metrics: QueueMetrics,
        places: QueuePlaces,
        changes: Changes,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._rules = rules
        self._writer = writer
        self._metrics = metrics
        self._places = places
        self._changes = changes
        self._clock = clock
        self._had_queues = False
        self._round = cache.gang_queue.queues.round

    async def run(self) -> None:
        """Report on queues until cancelled."""
        while True:
            with anyio.move_on_after(LAST_SECONDS):
                await self._changes.queues.wait()
            self._changes.queues.clear()
            started = time.perf_counter()
            with confined("report", "queues"):
                self.report()
            seconds = time.perf_counter() - started
            await asyncio.sleep(max(LEAST_SECONDS, seconds / LARGEST_PART))

    def report(self) -> None:
        """Compute the figures, and pass them to statuses, metrics and positions of gangs."""
        now = self._clock()
        figures = queue_figures.figures_of(self._cache, self._rules, int(now))
        gang_queue = self._cache.gang_queue
        if self._round != gang_queue.queues.round:
            self._round = gang_queue.queues.round
            gang_queue.changed.update(self._misnamed())
        if not (figures or self._had_queues):
            return
        self._had_queues = bool(figures)
        self._writer.show(figures)
        self._metrics.show(figures)
        told = self._places.show(figures, now)
        gang_queue.changed |= told & gang_queue.infos.keys()

    def _misnamed(self) -> Iterator[GangKey]:
        """Yield the gangs whose statuses name a queue other than their own."""
        for key, info in self._cache.gang_queue.infos.items():
            spec = info.observed.spec
            named = spec.status.get("queue") if spec is not None else None
            if isinstance(named, Mapping):
                ref = self._cache.queue_of(key)
                if ref is None or named.get("name") != ref.name:
                    yield key


# Now and then the charges of queues are compared with a sum over all pods: both must be equal. A
# difference is a bug in the scheduler. It is corrected, logged and counted, so that it gets
# noticed.

SWEEP_SECONDS: Final = 300.0

log = Logger()


class UsageSweep:
    """Compares the charges of queues with a new sum, at an interval."""

    def __init__(self, cache: Cache, interval_seconds: float = SWEEP_SECONDS) -> None:
        self._cache = cache
        self._interval = interval_seconds

    async def run(self) -> None:
        """Compare until cancelled."""
        await every(self._interval, self.sweep, "sweep", "queue usage")

    def sweep(self) -> None:
        """Compare once. Linear in pods; does nothing without queues."""
        number = self._cache.usage_differences()
        if number:
            metrics.USAGE_DIFFERENCES.inc(number)
            log.error("queue_usage_differs", figures=number)
