"""Runs Kopf inside our task group, and starts it again when it ends.

Kopf ends on errors that an informer would survive: a watch answered with an error other than 410,
half a line at the end of a stream, an outage longer than its backoffs. The cache outlives Kopf,
lists of our own bring the cache up to date, and the sweep finds deletions, and kinds that Kopf does
not watch.

`kopf.operator()` would cancel every task of the event loop that is younger than itself, the
binder's requests included. So the tasks of Kopf are spawned and watched here.
"""

import asyncio
import math
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final, cast

import anyio
import kopf
from kopf._cogs.aiokits import aiotasks

from gang_scheduler.client.connection import REQUEST_SECONDS, Connection
from gang_scheduler.client.http import CONNECT_SECONDS
from gang_scheduler.client.retry import Backoff
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import kopf_handlers, kopf_lists, kopf_requests
from gang_scheduler.watch.relist import Relist
from gang_scheduler.watch.sweep import Sweep
from gang_scheduler.watch.synced import InStep

FIRST_PAUSE = 1.0
LAST_PAUSE = 4.0
"""In seconds. Short, since events during a pause are not seen, and decisions need a fresh view."""
SILENT_SECONDS = 20.0
"""After so long without an event a watch is begun anew from the last version, which costs little:
a stalled connection looks like one without events."""
HEALTHY_SECONDS = 60.0
CANCEL_AGAIN_SECONDS = 1.0
KOPF: Final = f"{Path(kopf.__file__).parent}{os.sep}"
"""Where the code of Kopf is."""

log = Logger()


class KopfSource:
    """The default source. The sweep finds the deletions that Kopf misses.

    Kopf takes over the process's signal handlers when it starts: `after_start` puts ours back.
    """

    def __init__(
        self,
        connection: Connection,
        event_handlers: EventHandlers,
        sweep: Sweep,
        relist: Relist,
        after_start: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._event_handlers = event_handlers
        self._sweep = sweep
        self._relist = relist
        self._after_start = after_start
        self._is_complete = asyncio.Event()
        self._in_step = InStep()
        self._silent = ""
        self._is_silent = asyncio.Event()

    @property
    def not_served(self) -> list[str]:
        """The kinds without a CRD, as of the last look."""
        return self._sweep.not_served

    @property
    def forbidden(self) -> list[str]:
        """The kinds that may not be read, as of the last look."""
        return self._sweep.forbidden

    async def run(self) -> None:
        """Run until cancelled. Kopf is started again whenever it ends."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._run_kopf)
            await self._is_complete.wait()
            await self._sweep.run()

    async def complete(self) -> None:
        """Return when every object of the first lists is in the sink."""
        await self._is_complete.wait()

    async def catch_up(self) -> None:
        """Return when lists that are requested from now on are in the sink."""
        await self._relist.everything()

    def begin_anew(self, kind: str) -> None:
        """End Kopf, which is started again: of its watchers none can be had by itself."""
        self._silent = kind
        self._is_silent.set()

    async def fresh(self) -> None:
        """Return at once unless Kopf has been down for long; else once it is in step again."""
        await self._in_step.fresh()

    async def _run_kopf(self) -> None:
        """Start Kopf, and again after a pause whenever it has ended."""
        backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_pass_on)
        while True:
            started = loop.time()
            with (
                kopf_requests.seen(self._event_handlers.names(), silence_seconds=SILENT_SECONDS),
                kopf_lists.taken_in(self._event_handlers, self._sweep.listed),
            ):
                error = await self._run_once()
            metrics.SOURCE_RESTARTS.inc()
            if loop.time() - started > HEALTHY_SECONDS:
                backoff.reset()
            pause = backoff.seconds()
            log.warning("watching_ended", error=error, next_start_in_seconds=round(pause, 1))
            await asyncio.sleep(pause)

    async def _run_once(self) -> str:
        """Run Kopf until it ends, or a kind is not watched; return the error in words."""
        self._event_handlers.start_over()
        self._is_silent.clear()
        registry = kopf.OperatorRegistry()
        kopf_handlers.register(registry, self._event_handlers, self._connection)
        kopfs = await kopf.spawn_tasks(
            registry=registry,
            settings=operator_settings(),
            clusterwide=True,
            standalone=True,
        )
        self._after_start()
        own = (self._look_after(), self._until_silent())
        tasks = [*kopfs, *map(asyncio.create_task, own)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._in_step.clear()
            # Two of Kopf at once would watch everything twice.
            with anyio.CancelScope(shield=True):
                await _stop(tasks)
                # Kopf leaves the other watchers running when one has failed.
                await _stop([task for task in asyncio.all_tasks() if _is_guarded(task)])
                # And requests for what is served. Last: a watcher goes on, although it is
                # cancelled, when it finds that ended by which it would be told to pause.
                await _stop([task for task in asyncio.all_tasks() if _is_kopfs(task)])
        errors = (task.exception() for task in done if not task.cancelled())
        return next((repr(error) for error in errors if error is not None), "ended by itself")

    async def _look_after(self) -> None:
        """Wait for the first lists; from then on, raise when a kind is not watched."""
        await self._sweep.wait_until_complete()
        log.info("first_lists_complete", kinds_not_served=self._sweep.not_served)
        if self._is_complete.is_set():
            # The cache is from before the restart: lists bring in the changes since.
            await self._relist.everything()
        self._in_step.set()
        self._is_complete.set()
        await self._sweep.look_for_kinds()

    async def _until_silent(self) -> None:
        """Raise when a watch is to be begun anew."""
        await self._is_silent.wait()
        raise WatchSilentError(self._silent)


class WatchSilentError(Exception):
    """A watch gives no sign of life."""


async def _stop(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks, again while they go on, and return when they have ended, with any errors."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        ended, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_SECONDS)
        await asyncio.gather(*ended, return_exceptions=True)


def _pass_on(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an error that no code asked for, unless it is one of a task of Kopf.

    When its tasks fail together, Kopf asks for the error of one of them, and logs that.
    """
    task = context.get("future")
    if not (isinstance(task, asyncio.Task) and _is_kopfs(task)):
        loop.default_exception_handler(context)


def _is_guarded(task: asyncio.Task[Any]) -> bool:
    """Return whether a task is one of Kopf's that log their errors themselves."""
    return getattr(task.get_coro(), "cr_code", None) is aiotasks.guard.__code__


def _is_kopfs(task: asyncio.Task[Any]) -> bool:
    """Return whether the code of a task is Kopf's."""
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename.startswith(KOPF)


class _NoDiff(kopf.AnnotationsDiffBaseStorage):
    """Kopf keeps a deep copy of every object to find changes; `on.event` never looks at it."""

    def build(self, **_: object) -> kopf.BodyEssence:
        return cast("kopf.BodyEssence", {})

    def fetch(self, **_: object) -> kopf.BodyEssence | None:
        return None


class _Backoffs:
    """The pauses between the attempts of each request of Kopf, without an end."""

    def __iter__(self) -> Iterator[float]:
        backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        while True:
            yield backoff.seconds()


def operator_settings() -> kopf.OperatorSettings:
    """Return Kopf's settings: no writes to the cluster, little memory, outages waited out."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.persistence.diffbase_storage = _NoDiff()
    # A worker task and a queue stay for every object that had an event lately.
    settings.queueing.idle_timeout = 1.0
    settings.watching.chunk_size = 500
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    # Never: `kopf_requests` bounds the silence, and says why Kopf must not.
    settings.watching.inactivity_timeout = math.inf
    # A list that is never answered delays all later requests, by default for five minutes.
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    settings.networking.error_backoffs = _Backoffs()
    # Kopf would kill the process ten minutes after it ended, although we have started it again.
    settings.process.ultimate_exiting_timeout = None
    return settings
