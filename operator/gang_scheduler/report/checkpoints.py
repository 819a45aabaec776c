"""Checkpoints as users see them: Events, log lines, a metric, and a gang's last checkpoint."""

import time
from collections.abc import Callable, Collection
from functools import partial
from typing import Final

import anyio
import msgspec

from gang_scheduler.api.annotations import CHECKPOINT_LATEST
from gang_scheduler.api.kinds import GVR, JOBS, POD_GROUPS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.background_tasks import every
from gang_scheduler.client.errors import Kind
from gang_scheduler.client.interfaces import Api
from gang_scheduler.client.writing import RACED, Writes
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.api_words import CheckpointOutcome
from gang_scheduler.model.checkpoints import CheckpointReport, Checkpoints, Save
from gang_scheduler.model.refs import JOB, GangKey
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.report import pod_group_status as checkpoint_status
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.queues.gang_texts import EvictionTexts
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.telemetry.metrics import NO_QUEUE

# An Event, a log line and the metric for each checkpoint outcome.

LOOK_SECONDS: Final = 0.2
EVICTION, OWN = "eviction", "own"
REQUESTED: Final = "CheckpointRequested"
EVENTS: Final = {
    CheckpointOutcome.SAVED: "CheckpointSaved",
    CheckpointOutcome.TIMED_OUT: "CheckpointTimedOut",
    CheckpointOutcome.FAILED: "CheckpointFailed",
}

log = Logger()


class CheckpointAnnouncer:
    """Emits an Event and a log line for each checkpoint outcome, while this replica schedules."""

    def __init__(
        self, cache: Cache, gang_events: GangEvents, clock: Callable[[], float] = time.time
    ) -> None:
        self._cache = cache
        self._gang_events = gang_events
        self._clock = clock

    async def run(self) -> None:
        """Report outcomes until cancelled, except outcomes from before this replica scheduled."""
        self._cache.checkpoints.take_in(int(self._clock()))
        news = self._cache.checkpoints.news
        kept = [each for each in news if each[1].outcome is None]
        news.clear()
        news.extend(kept)
        await every(LOOK_SECONDS, self.emit, "report", "checkpoints", at_once=True)

    def emit(self) -> None:
        """Emit an Event and a log line for each checkpoint outcome since the last call."""
        records = self._cache.checkpoints
        records.take_in(int(self._clock()))
        while records.news:
            key, news = records.news.popleft()
            with confined("report", str(key)):
                self._emit(key, news)

    def _emit(self, key: GangKey, news: CheckpointReport) -> None:
        event = REQUESTED if news.outcome is None else EVENTS[news.outcome]
        note = words_of(news)
        log.info("checkpoint", gang=str(key), what=event, note=note)
        if news.outcome is not None:
            why = EVICTION if news.evicted else OWN
            metrics.CHECKPOINT_SAVES.labels(self._queue_of(key), why, news.outcome.value).inc()
        failed = news.outcome in (CheckpointOutcome.TIMED_OUT, CheckpointOutcome.FAILED)
        self._gang_events.checkpoint(key, event, note, warning=failed)

    def _queue_of(self, key: GangKey) -> str:
        ref = self._cache.queue_of(key)
        return ref.name if ref is not None else NO_QUEUE


def words_of(news: CheckpointReport) -> str:
    """Return the note of the Event for a checkpoint outcome."""
    match news.outcome:
        case None:
            return f"Asked to save its work within {news.seconds} s: room is made for {news.by}"
        case CheckpointOutcome.SAVED:
            return f"Work is saved{_of_save(news.save)}"
        case CheckpointOutcome.TIMED_OUT:
            return "No answer in time: it is evicted without a new checkpoint"
        case CheckpointOutcome.FAILED:
            rest = "; it is evicted without a new checkpoint" if news.evicted else ""
            return f"Not saved: {news.why}{rest}"


def _of_save(save: Save | None) -> str:
    if save is None:
        return ""
    step = f" at step {save.step}" if save.step is not None else ""
    return f"{step}: {save.path}" if save.path else step


# The last checkpoint of a gang is written on its Job if the gang has no PodGroup with a status for
# it. This applies only to Jobs that the scheduler manages: it may patch no others.

LATEST_SECONDS: Final = 0.5


class LatestCheckpoints:
    """Writes each checkpoint that is not on its Job yet."""

    def __init__(self, api: Api, cache: Cache, *, writes: Writes) -> None:
        self._api = api
        self._cache = cache
        self._writes = writes

    async def run(self) -> None:
        """Write the checkpoints of gangs until cancelled."""
        when = self._writes.allowed
        await every(LATEST_SECONDS, self.look, "report", "checkpoints", at_once=True, when=when)

    async def look(self) -> None:
        """Write the checkpoints that have changed since the last call."""
        is_managed = JOB.name in self._cache.suspended.rules.manage_jobs
        if not is_managed:
            return
        unwritten = self._cache.checkpoints.unwritten
        for key in sorted(unwritten):
            unwritten.discard(key)
            with confined("report", str(key)):
                await self._write(key)

    async def _write(self, key: GangKey) -> None:
        info = self._cache.gang_queue.infos.get(key)
        spec = info.observed.spec if info is not None else None
        if spec is None or spec.gvr != JOBS:
            return
        text = text_of(self._cache.checkpoints.of(key))
        if text in ("", text_of(spec.checkpoints)):
            return
        body = {"metadata": {"uid": spec.uid, "annotations": {CHECKPOINT_LATEST: text}}}
        refusal = await self._writes.send(
            *("checkpoint", lambda: self._api.patch(JOBS, key.namespace, key.name, body)),
            passing=RACED,
            about=key,
        )
        if refusal is None or refusal.kind is Kind.GONE:
            return
        if refusal.passes or refusal.error is None:
            self._cache.checkpoints.unwritten.add(key)
        else:
            log.warning("checkpoint_not_written", gang=str(key), error=str(refusal.error))


def text_of(found: Checkpoints | None) -> str:
    """Return the annotation for a gang, "" if the gang has saved nothing."""
    last = found.last if found is not None else None
    if found is None or last is None:
        return ""
    said: dict[str, str | int] = {"doneAt": rfc3339(last.done_at)}
    if last.step is not None:
        said["step"] = last.step
    if last.path:
        said["path"] = last.path
    if last.request_id:
        said["requestId"] = last.request_id
    if found.resume_count:
        said["resumeCount"] = found.resume_count
    return msgspec.json.encode(said).decode()


# Before any pod is deleted, the PodGroup of a victim records the preemptor and the last checkpoint,
# so that both are known after a crash of the scheduler. The eviction does not wait for long: if the
# API server does not accept the write, the eviction continues, and `status_writer` repeats the
# write with the rest of the status. If the scheduler crashes before that, the preemptors of this
# one plan are lost.

MOST_SECONDS: Final = 2.0
"""How long an eviction waits for this write."""
_GROUPS: Final = frozenset({POD_GROUPS.group, SCHED_PLUGINS_POD_GROUPS.group})


class EvictionWriter:
    """Writes the preemptor and the checkpoint of each gang that is evicted into its PodGroup."""

    def __init__(self, api: Api, cache: Cache, texts: EvictionTexts, writes: Writes) -> None:
        self._api = api
        self._cache = cache
        self._texts = texts
        self._writes = writes

    async def write(self, keys: Collection[GangKey]) -> None:
        """Write the preemptors and checkpoints; return when done, or after MOST_SECONDS."""
        with anyio.move_on_after(MOST_SECONDS):
            async with anyio.create_task_group() as writes:
                for key in sorted(keys):
                    gvr = self._kind_of(key)
                    if gvr is not None:
                        writes.start_soon(self._write, gvr, key)

    def _kind_of(self, key: GangKey) -> GVR | None:
        """Return the kind of the object that can record evictions, None if there is none."""
        info = self._cache.gang_queue.infos.get(key)
        spec = info.observed.spec if info is not None else None
        gvr = spec.gvr if spec is not None else None
        return gvr if gvr is not None and gvr.group in _GROUPS else None

    async def _write(self, gvr: GVR, key: GangKey) -> None:
        with confined("report", str(key)):
            evictions = self._texts.status_of(key)
            saved = checkpoint_status.checkpoint_status(self._cache.checkpoints.of(key), {})
            status = {**saved, **({} if evictions is None else {"evictions": evictions})}
            write = partial(self._api.patch_status, gvr, key.namespace, key.name, status)
            await self._writes.send("pod_group_evictions", write)
