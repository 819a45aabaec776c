"""Keeps the status of our Queues current. Woken by new figures; a queue is written now and then.

The objects of other products belong to these: nothing is written there.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from gang_scheduler.api.kinds import QUEUES
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.client.retry import Denials
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.queues import QueueFigures, QueueKind, QueueRef, RecentUsage
from gang_scheduler.report.queues import queue_status
from gang_scheduler.report.queues.queue_status import Status, View
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

LEAST_SECONDS: Final = 10
"""The least time between two writes of one queue: figures change with every pod."""
WAIT_SECONDS: Final = 1.0

log = Logger()


class Declared(Protocol):
    """A Queue as it was read."""

    @property
    def generation(self) -> int:
        """The generation of the object."""

    @property
    def status(self) -> Status:
        """What was written last."""


def _no_recent(_ref: QueueRef, _now: int) -> RecentUsage | None:
    return None


class QueueWriter:
    """Writes statuses that have changed, while `may_write()` says that we are the leader.

    `declared` are the Queues by uid, `gpu_resources` what `gpu` is the sum of. `recent` gives what
    a queue used lately, at a time in seconds.
    """

    def __init__(
        self,
        api: Api,
        declared: Mapping[str, Declared],
        *,
        gpu_resources: Sequence[str] = (),
        recent: Callable[[QueueRef, int], RecentUsage | None] = _no_recent,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._declared = declared
        self._gpu_resources = gpu_resources
        self._recent = recent
        self._may_write = may_write
        self._clock = clock
        self._figures: dict[str, QueueFigures] = {}
        self._pending: Mapping[QueueRef, int] = {}
        self._written: dict[str, Status] = {}
        self._next: dict[str, float] = {}
        self._denials = Denials()
        self._news = asyncio.Event()
        self._closing = False

    def show(self, figures: Sequence[QueueFigures]) -> None:
        """Take in the figures of all queues: what differs is written when it is due."""
        self._figures = {each.queue.uid: each for each in figures}
        self._pending = queue_status.pending_in_trees(figures)
        self._news.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._news.wait()
            await asyncio.sleep(WAIT_SECONDS)
            if self._may_write():
                self._news.clear()
                with confined("report", "queues"):
                    await self.flush()

    async def close(self) -> None:
        """Write all that has changed, and what queues used lately: nothing comes after it."""
        self._closing = True
        if self._may_write():
            with confined("report", "queues"):
                await self.flush()

    async def flush(self) -> None:
        """Write what has changed since the last time; wake up again for what is not due yet."""
        self._written = {uid: each for uid, each in self._written.items() if uid in self._declared}
        self._next = {uid: each for uid, each in self._next.items() if uid in self._declared}
        for uid, figures in list(self._figures.items()):
            declared = self._declared.get(uid)
            if declared is not None and figures.queue.ref.kind is QueueKind.QUEUE:
                await self._update(uid, figures, declared)

    async def _update(self, uid: str, figures: QueueFigures, declared: Declared) -> None:
        now = self._clock()
        known = self._written.get(uid, declared.status)
        view = View(
            known,
            declared.generation,
            int(now),
            self._pending.get(figures.queue.ref, 0),
            self._gpu_resources,
            self._recent(figures.queue.ref, int(now)),
            self._closing,
        )
        status = queue_status.status_of(figures, view)
        if not queue_status.differs(known, status):
            return
        if now < self._next.get(uid, 0) and not self._closing:
            self._news.set()
            return
        self._next[uid] = now + LEAST_SECONDS
        await self._write(uid, figures.queue.ref.name, queue_status.patch_of(known, status), status)

    async def _write(self, uid: str, name: str, patch: Mapping[str, Any], status: Status) -> None:
        if not self._may_write():
            return
        self._written[uid] = status
        try:
            await self._api.patch_status(QUEUES, "", name, patch)
        except ApiError as error:
            metrics.WRITES.labels("queue_status", error.kind.value).inc()
            passes = error.kind in (Kind.UNKNOWN, Kind.THROTTLED, Kind.CONFLICT)
            if passes or self._denials.may_pass(error, uid):
                self._written.pop(uid, None)
                self._next[uid] = max(self._next[uid], self._clock() + error.retry_after)
                self._news.set()
            elif error.kind in (Kind.REFUSED, Kind.DENIED):
                log.warning("status_refused", what="queue", name=name, error=str(error))
        else:
            metrics.WRITES.labels("queue_status", "written").inc()
