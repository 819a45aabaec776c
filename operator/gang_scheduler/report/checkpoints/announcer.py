"""Tells what happens with checkpoints: Events on gangs, log lines, and the metric."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from gang_scheduler.internal_errors import confined
from gang_scheduler.model.checkpoints import News, Outcome, Save
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.telemetry.metrics import NO_QUEUE

LOOK_SECONDS: Final = 0.2
EVICTION, OWN = "eviction", "own"
REQUESTED: Final = "CheckpointRequested"
EVENTS: Final = {
    Outcome.SAVED: "CheckpointSaved",
    Outcome.TIMED_OUT: "CheckpointTimedOut",
    Outcome.FAILED: "CheckpointFailed",
}

log = Logger()


class CheckpointAnnouncer:
    """Tells news as they come, while this replica schedules."""

    def __init__(
        self, cache: Cache, gang_events: GangEvents, clock: Callable[[], float] = time.time
    ) -> None:
        self._cache = cache
        self._gang_events = gang_events
        self._clock = clock

    async def run(self) -> None:
        """Tell news until cancelled. What was seen before this replica scheduled is none."""
        self._cache.checkpoints.take_in(int(self._clock()))
        news = self._cache.checkpoints.news
        kept = [each for each in news if each[1].outcome is None]
        news.clear()
        news.extend(kept)
        while True:
            self.tell()
            await asyncio.sleep(LOOK_SECONDS)

    def tell(self) -> None:
        """Tell all news that there are."""
        records = self._cache.checkpoints
        records.take_in(int(self._clock()))
        while records.news:
            key, news = records.news.popleft()
            with confined("report", str(key)):
                self._tell(key, news)

    def _tell(self, key: GangKey, news: News) -> None:
        event = REQUESTED if news.outcome is None else EVENTS[news.outcome]
        note = words_of(news)
        log.info("checkpoint", gang=str(key), what=event, note=note)
        if news.outcome is not None:
            why = EVICTION if news.evicted else OWN
            metrics.CHECKPOINT_SAVES.labels(self._queue_of(key), why, news.outcome.value).inc()
        failed = news.outcome in (Outcome.TIMED_OUT, Outcome.FAILED)
        self._gang_events.checkpoint(key, event, note, warning=failed)

    def _queue_of(self, key: GangKey) -> str:
        ref = self._cache.queue_of(key)
        return ref.name if ref is not None else NO_QUEUE


def words_of(news: News) -> str:
    """Return what users read."""
    match news.outcome:
        case None:
            return f"Asked to save its work within {news.seconds} s: room is made for {news.by}"
        case Outcome.SAVED:
            return f"Work is saved{_of_save(news.save)}"
        case Outcome.TIMED_OUT:
            return "No answer in time: it is evicted without a new checkpoint"
        case Outcome.FAILED:
            rest = "; it is evicted without a new checkpoint" if news.evicted else ""
            return f"Not saved: {news.why}{rest}"


def _of_save(save: Save | None) -> str:
    if save is None:
        return ""
    step = f" at step {save.step}" if save.step is not None else ""
    return f"{step}: {save.path}" if save.path else step
