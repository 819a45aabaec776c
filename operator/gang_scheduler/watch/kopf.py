"""Kopf as the source of watch events, run in our task group and restarted when it ends.

Kopf ends on errors that an informer would survive: a watch answered with an error other than 410,
half a line at the end of a stream, an outage longer than its backoffs. The cache outlives Kopf. Our
own lists bring the cache up to date, and the sweep finds deletions, and kinds that Kopf does not
watch.

`kopf.operator()` would cancel every younger task of the event loop, the binder's requests included.
So Kopf's tasks are spawned and watched here.
"""

import asyncio
import math
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

import aiohttp
import anyio
import kopf
from kopf._cogs.aiokits import aiotasks
from kopf._cogs.clients import api, fetching

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client import http
from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.connection import REQUEST_SECONDS, Connection
from gang_scheduler.client.errors import AnswerTooLongError, ApiError
from gang_scheduler.client.http import CONNECT_SECONDS, TooLongError
from gang_scheduler.client.list_pages import Pages
from gang_scheduler.decode.events import EventHandlers, KindHandler
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import known_objects, synced
from gang_scheduler.watch.known_objects import KnownObjects, Page
from gang_scheduler.watch.list_watch import SLICE, ListWatch
from gang_scheduler.watch.sweep import Sweep
from gang_scheduler.watch.synced import ChangeCount, UpToDate

# All Kopf handlers. Each hands its events on, and Kopf never writes anything back. They use only
# `on.event`, because the other kinds of handlers put finalizers and annotations on users' objects.
# Kinds whose CRD is absent cost nothing, and are watched from the moment the CRD appears.


def register(
    registry: kopf.OperatorRegistry, event_handlers: EventHandlers, connection: Connection
) -> None:
    """Register handlers for all events of watches. Lists are handled by `kopf_lists`."""
    for handler in event_handlers.all:
        # Kopf assumes a group's preferred version for a kind without one, and that version may lack
        # the kind: scheduling.k8s.io/v1 has no PodGroups.
        for gvr in handler.versions:
            _watch(registry, gvr, handler)

    @kopf.on.login(registry=registry)
    async def login(**_: object) -> kopf.ConnectionInfo:
        return await credentials(connection)


def _watch(registry: kopf.OperatorRegistry, gvr: GVR, handler: KindHandler[Any]) -> None:
    @kopf.on.event(*gvr, id=gvr.plural, registry=registry)
    async def seen(event: kopf.RawEvent, **_: object) -> None:
        handler.handle(event)
        synced.seen(handler.name)


@dataclass(frozen=True, kw_only=True)
class Credentials(kopf.ConnectionInfo):
    """Our credentials for Kopf, which has its own session. Equal credentials compare equal."""

    tls: ssl.SSLContext = field(compare=False)

    def as_ssl_context(self) -> ssl.SSLContext:
        """Return our TLS context: Kopf has no setting for tls-server-name."""
        return self.tls


async def credentials(connection: Connection) -> Credentials:
    """Return the credentials with which Kopf logs in."""
    scheme, _, token = (await connection.authorization()).get("Authorization", "").partition(" ")
    return Credentials(
        server=connection.host,
        tls=connection.tls,
        scheme=scheme or None,
        token=token or None,
        proxy_url=connection.proxy_url,
    )


# Lists that Kopf requests are read by us, and taken in page by page, so nothing is left for Kopf to
# do. Kopf would read a page of any length, although one user may have a thousand objects of a
# megabyte, and it would decode a page as a whole. It would also start a task for each listed object
# and remember the object for good: a third of a millisecond and 6 KB each, while the events of the
# watch wait. Lists of kinds that the scheduler does not watch are left to Kopf: only administrators
# create those.

Listed = Callable[[KindHandler[Any], str], None]
Chunk = tuple[list[Mapping[str, Any]], str]


@contextmanager
def taken_in(event_handlers: EventHandlers, listed: Listed) -> Iterator[None]:
    """Within the block, take in Kopf's lists, a page at a time.

    `listed` is called with the handler of the kind and the uid of every object of a list, before
    the object is taken in.
    """
    handlers = {gvr: event_handlers.of(gvr) for gvr in event_handlers.names()}
    original = fetching.fetch_objs

    async def fetch_objs(*, resource: Any, **how: Any) -> AsyncIterator[Chunk]:  # noqa: ANN401 - handed on as it is.
        gvr = GVR(resource.group, resource.version, resource.plural)
        handler = handlers.get(gvr)
        if handler is None:
            async for chunk, version in original(resource=resource, **how):
                yield [*chunk], version
            return
        objects = KnownObjects(handler, event_handlers.versions)
        objects.begin(gvr)
        async for page in _pages(resource, **how):
            for number, each in enumerate(page.items or ()):
                if not number % SLICE:
                    await asyncio.sleep(0)
                listed(handler, known_objects.identity(each).uid)
                objects.listed(each)
            synced.listed(handler.name)
            yield [], page.metadata.resource_version

    fetching.fetch_objs = fetch_objs  # type: ignore[assignment] # its parameters are spelt out there.
    try:
        yield
    finally:
        fetching.fetch_objs = original


async def _pages(
    resource: Any,  # noqa: ANN401 - Kopf's, as all of these.
    *,
    namespace: Any,  # noqa: ANN401
    settings: kopf.OperatorSettings,
    logger: Any,  # noqa: ANN401
) -> AsyncIterator[Page]:
    """Yield all pages of a list, each no longer than an answer may be. Raises as Kopf's requests.

    Each page is requested once the one before is taken in.
    """
    pages, following = Pages(settings.watching.chunk_size or 0), ""
    while True:

        async def ask(limit: int, following: str = following) -> bytes:
            params = {"limit": str(limit)} | ({"continue": following} if following else {})
            url = resource.get_url(namespace=namespace, params=params)
            answer = await api.request("get", url, settings=settings, logger=logger)
            async with answer:
                return await _body(answer)

        page = known_objects.decoded(await pages.get(ask), known_objects.PAGE)
        yield page
        following = page.metadata.continue_
        if not following:
            return


async def _body(answer: aiohttp.ClientResponse) -> bytes:
    try:
        return await http.joined(answer.content.iter_any())
    except TooLongError as error:
        raise AnswerTooLongError(str(error)) from error


# Requests of Kopf are observed, to see which of its lists and watches are answered. Silent watches
# are ended. Kopf itself reports only events: without the answers, a stalled watch would look like a
# watch of a kind that never changes. Kopf's own bound on silence ends more than a request. Its
# timer also runs while an event is handled. If it expires then, for example after a pause of the
# process, the whole task of the watch is cancelled, and nothing starts it again. The connection's
# bound is checked only during reads.

Request = Callable[..., Awaitable[aiohttp.ClientResponse]]


@contextmanager
def seen(kinds: dict[GVR, str], *, silence_seconds: float) -> Iterator[None]:
    """Observe Kopf's requests for these kinds within the block.

    A watch of any kind that receives nothing for `silence_seconds` is broken off like a lost
    connection. Kopf begins it again from the last version.
    """
    by_path = {gvr.path(): name for gvr, name in kinds.items()}
    listed: set[str] = set()
    original: Request = api.request

    async def request(method: str, url: str, **how: Any) -> aiohttp.ClientResponse:  # noqa: ANN401 - handed on as it is.
        path, _, query = url.partition("?")
        watches = "watch=true" in query
        if watches:
            how["timeout"] = _within(silence_seconds, how["timeout"])
        answer = await original(method, url, **how)
        name = by_path.get(path)
        if name is not None and method == "get":
            if watches:
                synced.seen(name)
            elif "continue=" not in query:
                _listed(name, listed)
        return answer

    api.request = request
    try:
        yield
    finally:
        api.request = original  # type: ignore[assignment] # its parameters are spelt out there.


def _within(silence_seconds: float, given: aiohttp.ClientTimeout) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(
        total=given.total, sock_connect=given.sock_connect, sock_read=silence_seconds
    )


def _listed(name: str, before: set[str]) -> None:
    if name in before:
        metrics.RELISTS.labels(name).inc()
    before.add(name)


# Lists of all kinds, in addition to every watch: what a process must know before it decides
# anything. A watch that has stalled, or waits for a restart, does not show the last writes of a
# predecessor. Kopf cannot be asked for a list, so these lists come in addition to its own; the
# event handlers ignore objects of older versions.


class Relist:
    """Lists all objects again, on demand."""

    def __init__(self, connection: Connection, event_handlers: EventHandlers) -> None:
        self._connection = connection
        self._event_handlers = event_handlers

    async def everything(self) -> None:
        """Return once the cache has every change, and every deletion, from before this call.

        Every list is repeated until it is answered.
        """
        async with anyio.create_task_group() as group:
            for handler in self._event_handlers.all:
                group.start_soon(self._kind, handler, name=f"list {handler.name}")

    async def _kind(self, handler: KindHandler[Any]) -> None:
        # Only objects that were known before the list was requested can be missing because of a
        # deletion.
        known = set(handler.uids())
        metrics.RELISTS.labels(handler.name).inc()
        objects = KnownObjects(handler, self._event_handlers.versions)
        lists = ListWatch(self._connection, handler.versions, objects, ChangeCount())
        while True:
            try:
                await lists.list_once()
                break
            except ApiError as error:
                await lists.pause(error)
        if lists.forbidden:
            return  # The known objects count until the sweep has a better answer.
        gone = known.difference(objects.uids)
        for uid in gone:
            handler.missing(uid)
        metrics.SWEPT.labels(handler.name).inc(len(gone))


FIRST_PAUSE = 1.0
LAST_PAUSE = 4.0
"""In seconds.

It is short, since events during a pause are missed, and decisions need a fresh view.
"""
SILENT_SECONDS = 20.0
"""A watch without an event for this long restarts from its last version.

That is cheap, and a stalled connection looks the same as a quiet kind.
"""
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
        self._up_to_date = UpToDate()
        self._silent = ""
        self._is_silent = asyncio.Event()

    @property
    def not_served(self) -> list[str]:
        """The kinds without a CRD, as of the last check."""
        return self._sweep.not_served

    @property
    def forbidden(self) -> list[str]:
        """The kinds that may not be read, as of the last check."""
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
        """Return once the sink has every object of lists that are requested from now on."""
        await self._relist.everything()

    def begin_anew(self, kind: str) -> None:
        """End Kopf, which is then started again: single watchers cannot be restarted."""
        self._silent = kind
        self._is_silent.set()

    async def fresh(self) -> None:
        """Return at once unless Kopf has been down for long; else once it misses nothing."""
        await self._up_to_date.fresh()

    async def _run_kopf(self) -> None:
        """Start Kopf, and restart it after a pause whenever it ends."""
        backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_pass_on)
        while True:
            started = loop.time()
            with (
                seen(self._event_handlers.names(), silence_seconds=SILENT_SECONDS),
                taken_in(self._event_handlers, self._sweep.listed),
            ):
                error = await self._run_once()
            metrics.SOURCE_RESTARTS.inc()
            if loop.time() - started > HEALTHY_SECONDS:
                backoff.reset()
            pause = backoff.seconds()
            log.warning("watching_ended", error=error, next_start_in_seconds=round(pause, 1))
            await asyncio.sleep(pause)

    async def _run_once(self) -> str:
        """Run Kopf until it ends or misses a kind; return the error in words."""
        self._event_handlers.start_over()
        self._is_silent.clear()
        registry = kopf.OperatorRegistry()
        register(registry, self._event_handlers, self._connection)
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
            self._up_to_date.clear()
            # Two instances of Kopf would watch everything twice.
            with anyio.CancelScope(shield=True):
                await _stop(tasks)
                # Kopf leaves the other watchers running when one has failed.
                await _stop([task for task in asyncio.all_tasks() if _is_guarded(task)])
                # Also stop its requests to the API server. They come last: otherwise a watcher
                # whose request ends first would keep running although it is cancelled.
                await _stop([task for task in asyncio.all_tasks() if _is_kopfs(task)])
        errors = (task.exception() for task in done if not task.cancelled())
        return next((repr(error) for error in errors if error is not None), "ended by itself")

    async def _look_after(self) -> None:
        """Wait for the first lists; from then on, raise when a kind is not watched."""
        await self._sweep.wait_until_complete()
        log.info("first_lists_complete", kinds_not_served=self._sweep.not_served)
        if self._is_complete.is_set():
            # The cache is from before the restart: lists bring the changes since then.
            await self._relist.everything()
        self._up_to_date.set()
        self._is_complete.set()
        await self._sweep.look_for_kinds()

    async def _until_silent(self) -> None:
        """Raise when a watch must be restarted."""
        await self._is_silent.wait()
        raise WatchSilentError(self._silent)


class WatchSilentError(Exception):
    """A watch gives no sign of life."""


async def _stop(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel tasks, repeatedly if they continue. Return their errors once all have ended."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        ended, left = await asyncio.wait(left, timeout=CANCEL_AGAIN_SECONDS)
        await asyncio.gather(*ended, return_exceptions=True)


def _pass_on(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report an error that no code awaited, unless it belongs to a task of Kopf.

    If several tasks fail together, Kopf awaits the error of one of them, and logs it.
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
    """Kopf keeps a deep copy of every object to find changes, which `on.event` never needs."""

    def build(self, **_: object) -> kopf.BodyEssence:
        return cast("kopf.BodyEssence", {})

    def fetch(self, **_: object) -> kopf.BodyEssence | None:
        return None


class _Backoffs:
    """The endless pauses between the attempts of each request of Kopf."""

    def __iter__(self) -> Iterator[float]:
        backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        while True:
            yield backoff.seconds()


def operator_settings() -> kopf.OperatorSettings:
    """Return Kopf's settings: no writes to the cluster, little memory, and waiting out outages."""
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.persistence.diffbase_storage = _NoDiff()
    # For every object with a recent event, a worker task and a queue are kept.
    settings.queueing.idle_timeout = 1.0
    settings.watching.chunk_size = 500
    settings.watching.server_timeout = 300
    settings.watching.client_timeout = 330
    # Never: `kopf_requests` limits the silence, and says why Kopf must not.
    settings.watching.inactivity_timeout = math.inf
    # A list that is never answered delays all later requests, by default for five minutes.
    settings.networking.request_timeout = REQUEST_SECONDS
    settings.networking.connect_timeout = CONNECT_SECONDS
    settings.networking.error_backoffs = _Backoffs()
    # Otherwise Kopf would kill the process ten minutes after its end, although it was restarted.
    settings.process.ultimate_exiting_timeout = None
    return settings
