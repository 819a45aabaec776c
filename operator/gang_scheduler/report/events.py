"""Events for users: aggregated by gang, rate-limited, never in the way of scheduling."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gang_scheduler import telemetry
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.port import Api
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report.backpressure import Backpressure

CONTROLLER = "py-gang-scheduler"
LONGEST_NOTE = 1024
REPEAT_SECONDS = 300
REWORD_SECONDS = 30
QUEUE_LENGTH = 1000
PER_SECOND = 50.0
BURST = 100.0


@dataclass(frozen=True, slots=True)
class About:
    """The object that an Event is about, and the gang if the Event is that of a gang.

    Several gangs may be described by one JobSet or one Job: each has a limit of its own.
    """

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    gang: GangKey | None = None


class _Kind(NamedTuple):
    """Events that are alike: one replaces the other."""

    uid: str
    gang: GangKey | None
    reason: str
    warning: bool


class _Queued(NamedTuple):
    """An Event, and since when it waits, in the event loop's time in seconds."""

    since: float
    namespace: str
    event: dict[str, Any]


class _Said(NamedTuple):
    """The last note of a kind and when it was sent, and when one was last asked for; in seconds."""

    note: str
    at: float
    asked_at: float


class Events:
    """Takes Events at once and sends them as fast as the rate allows.

    The same Event about the same object and gang is not repeated for REPEAT_SECONDS, and an Event
    of the same reason with another note not for REWORD_SECONDS. When the queue is full, the oldest
    Event is dropped, so that none comes late by more than 25 seconds: conditions have the state,
    Events only its history.
    """

    def __init__(
        self,
        api: Api,
        backpressure: Backpressure,
        may_write: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api = api
        self._may_write = may_write
        self._clock = clock
        self._backpressure = backpressure
        self._queue: asyncio.Queue[_Queued] = asyncio.Queue(QUEUE_LENGTH)
        self._last: dict[_Kind, _Said] = {}
        self._pruned_at = clock()
        self._instance = f"{CONTROLLER}-{os.environ.get('HOSTNAME') or socket.gethostname()}"

    def is_quiet(self, about: About, reason: str, *, warning: bool = False) -> bool:
        """Return whether an Event of this kind is not due yet. Cheap: call before finding words."""
        said = self._last.get(_Kind(about.uid, about.gang, reason, warning))
        return said is not None and self._clock() - said.asked_at < REWORD_SECONDS

    def record(self, about: About, reason: str, note: str, *, warning: bool = False) -> None:
        """Queue an Event, unless it was just said."""
        now = self._clock()
        note = note[:LONGEST_NOTE]
        kind = _Kind(about.uid, about.gang, reason, warning)
        if self._said_lately(kind, note, now):
            return
        namespace = about.namespace or "default"
        if self._queue.full():
            self._queue.get_nowait()
            telemetry.WRITES.labels("event", "dropped").inc()
        event = self._event(about, reason, note, now, warning=warning)
        self._queue.put_nowait(_Queued(asyncio.get_running_loop().time(), namespace, event))
        self._last[kind] = _Said(note, now, now)

    async def run(self) -> None:
        """Send until cancelled, at PER_SECOND on average and BURST at once."""
        loop = asyncio.get_running_loop()
        allowance, at = BURST, loop.time()
        while True:
            queued = await self._queue.get()
            await self._backpressure.wait(queued.since)
            allowance, at = min(BURST, allowance + (loop.time() - at) * PER_SECOND), loop.time()
            if allowance < 1:
                await asyncio.sleep((1 - allowance) / PER_SECOND)
            allowance -= 1
            if self._may_write():
                with confined("write", "an Event"):
                    await self._send(queued)

    async def _send(self, queued: _Queued) -> None:
        """Send an Event, and once more if there was no answer: the connection may be stale.

        No more often, since that would delay other Events. The API server refuses a second Event of
        the same name.
        """
        for last in (False, True):
            try:
                await self._api.create_event(queued.namespace, queued.event)
            except ApiError as error:
                if error.kind is Kind.UNKNOWN and not last:
                    continue
                telemetry.WRITES.labels("event", error.kind.value).inc()
            else:
                telemetry.WRITES.labels("event", "written").inc()
            return

    def _said_lately(self, kind: _Kind, note: str, now: float) -> bool:
        if now - self._pruned_at > REPEAT_SECONDS:
            self._pruned_at = now
            self._last = {k: v for k, v in self._last.items() if now - v.at < REPEAT_SECONDS}
        said = self._last.get(kind)
        if said is None:
            return False
        self._last[kind] = said._replace(asked_at=now)
        return now - said.at < (REPEAT_SECONDS if note == said.note else REWORD_SECONDS)

    def _event(
        self, about: About, reason: str, note: str, now: float, *, warning: bool
    ) -> dict[str, Any]:
        moment = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "name": f"{about.name[:230]}.{secrets.token_hex(8)}",
                "namespace": about.namespace or "default",
            },
            "eventTime": moment,
            "reportingController": CONTROLLER,
            "reportingInstance": self._instance[:128],
            "action": "Scheduling",
            "reason": reason,
            "note": note,
            "type": "Warning" if warning else "Normal",
            "regarding": {
                "apiVersion": about.api_version,
                "kind": about.kind,
                "namespace": about.namespace,
                "name": about.name,
                "uid": about.uid,
            },
        }
