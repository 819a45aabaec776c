"""List and watch of one kind: keeps its known objects in step with the API server.

client-go calls this a reflector; the source `watch.reflector` runs one for each kind. After a
broken connection the watch continues from the last version; if the server has forgotten that
version, another list follows.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing
from typing import Final

import anyio
import msgspec

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError, Kind
from gang_scheduler.client.list_pages import Pages
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import kinds, known_objects, synced
from gang_scheduler.watch.kinds import OptionalKinds
from gang_scheduler.watch.known_objects import KnownObjects, Page
from gang_scheduler.watch.synced import ChangeCount, UpToDate


async def read_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield the lines that each chunk completes.

    Half a line at the end is dropped: the connection broke, and the next watch repeats that event.
    """
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield whole


PAGE: Final = 500
SLICE: Final = 100
"""This many objects are taken in before other tasks get a turn."""
LAST_SECONDS: Final = (300, 600)
"""The least and the greatest duration of a watch."""
SILENT_SECONDS: Final = 20
"""A quiet API server sends a bookmark about once a minute; silence may mean a stalled connection.

Watching again from the last version is cheap.
"""
FIRST_PAGE_SECONDS, LAST_PAGE_SECONDS = 5.0, 30.0
"""The time limits of a page.

The first is short, so that a lost request costs little. Later ones are longer, for a slow API
server.
"""
BRIEF_SECONDS: Final = 1.0
"""A watch that ends sooner has not really begun."""
FIRST_PAUSE, LAST_PAUSE = 0.1, 4.0
RESUMES: Final = 8
"""After this many failures in a row, the watch is not resumed: the kind is listed again."""
LOOK_AGAIN_SECONDS: Final = 60.0
SETTLE_SECONDS: Final = 1.0
"""A CRD is served a moment after it was created.

If it is not, further checks follow after longer pauses.
"""

RESUMABLE: Final = frozenset({Kind.UNKNOWN, Kind.THROTTLED})
FULL: Final = ("application/json", "application/json")
METADATA_ONLY: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
)
"""The Accept headers of lists and of watches."""

log = Logger()


class ListWatch:
    """Lists and watches one kind, in the first of its versions that the server has.

    `crds` counts changes of CRDs: after a change, another kind may be served. A page may take
    `page_seconds` at first, and longer after failures. `up_to_date` is set as long as no change was
    missed, as far as that can be known here.
    """

    def __init__(
        self,
        connection: Connection,
        versions: tuple[GVR, ...],
        known_objects: KnownObjects,
        crds: ChangeCount,
        accept: tuple[str, str] = FULL,
        *,
        page_seconds: float = FIRST_PAGE_SECONDS,
    ) -> None:
        self.name = versions[0].name
        self.up_to_date = UpToDate()
        self.served = False
        self.failure: ApiError | None = None
        """Why the state is out of step, if a request has failed."""
        self._connection = connection
        self._known_objects = known_objects
        self._crds = crds
        self._crds_seen = 0
        self._accept_list, self._accept_watch = accept
        self._page_seconds = page_seconds
        self._versions = versions
        self._gvr = versions[0]
        self._version = ""
        self._look_again_seconds = LOOK_AGAIN_SECONDS
        self._optional_kinds = OptionalKinds()
        # The number of failures in a row, and whether they were logged.
        self._failures = 0
        self._problem = ""
        self._backoff = Backoff(FIRST_PAUSE, LAST_PAUSE)
        self._turn = anyio.CancelScope()
        self._must_list = True
        self._has_listed = False

    @property
    def forbidden(self) -> list[str]:
        """The name of the kind if it may not be read, as of the last list."""
        return self._optional_kinds.forbidden

    async def run(self) -> None:
        """List, then watch; list again whenever the watch cannot continue. Runs until cancelled."""
        while True:
            with anyio.CancelScope() as self._turn:
                try:
                    if await self.list_once():
                        await self._watch()
                    else:
                        await self._wait_until_served()
                except ApiError as error:
                    await self.pause(error)

    def list_anew(self) -> None:
        """Abort all requests and start with a list again.

        Until it is complete, the state is out of step.
        """
        self._must_list = True
        self.up_to_date.clear()
        self._turn.cancel()

    async def list_once(self) -> bool:
        """Take all objects in, in the best served version; return whether there is one."""
        self._must_list = False
        # Changes of CRDs during the lists may come too late for them.
        self._crds_seen = self._crds.number
        if self._has_listed:
            metrics.RELISTS.labels(self.name).inc()
        for gvr in self._versions:
            try:
                await self._list_pages(gvr)
            except ApiError as error:
                if not self._optional_kinds.is_absent(self.name, error):
                    raise
            else:
                self._optional_kinds.listed(self.name)
                self._gvr, self.served, self._has_listed = gvr, True, True
                self._keep_step()
                return True
        kinds.require_absent(self.name)
        return False

    async def _list_pages(self, gvr: GVR) -> None:
        self._known_objects.begin(gvr)
        version = ""
        async with aclosing(self._pages(gvr)) as pages:
            async for page in pages:
                synced.listed(self.name)
                self._known_objects.as_of(page.metadata.resource_version)
                for number, item in enumerate(page.items or ()):
                    if not number % SLICE:
                        await asyncio.sleep(0)
                    self._known_objects.listed(item)
                version = page.metadata.resource_version
        self._known_objects.end()
        self._version = version

    async def _pages(self, gvr: GVR) -> AsyncGenerator[Page]:
        """Yield all pages of a list. While one page is taken in, the next is fetched."""
        pages = Pages(PAGE)
        patience = self._page_seconds * 2 ** min(self._failures, RESUMES)
        longest = min(patience, max(self._page_seconds, LAST_PAGE_SECONDS))

        def ask(following: str) -> asyncio.Task[bytes]:
            def request(limit: int) -> Awaitable[bytes]:
                path = f"{gvr.path()}?limit={limit}&continue={following}"
                return self._connection.request(
                    "GET", path, accept=self._accept_list, timeout_seconds=longest
                )

            return asyncio.create_task(pages.get(request))

        answer = ask("")
        try:
            while True:
                page = _page(await answer)
                if not page.metadata.continue_:
                    yield page
                    return
                answer = ask(page.metadata.continue_)
                yield page
        finally:
            answer.cancel()

    async def _watch(self) -> None:
        """Handle changes, over as many connections as necessary, until only a list can help."""
        while True:
            try:
                await self._take_changes()
            except ApiError as error:
                if error.kind not in RESUMABLE or self._failures >= RESUMES:
                    raise
                await self.pause(error)

    async def _take_changes(self) -> None:
        """Handle the changes of one connection."""
        clock = asyncio.get_running_loop().time
        began = clock()
        async with self._connection.stream(
            self._watch_path(), accept=self._accept_watch, silence_seconds=SILENT_SECONDS
        ) as chunks:
            self._keep_step()
            synced.seen(self.name)
            async for lines in read_lines(chunks):
                for line in lines:
                    self._version = self._known_objects.changed(line) or self._version
                self._recovered()
                synced.seen(self.name)
        if clock() - began < BRIEF_SECONDS:
            raise ApiError(0, "the watch ended at once")

    def _watch_path(self) -> str:
        # Watches that began together should not end together.
        seconds = random.randint(*LAST_SECONDS)  # noqa: S311 - not a secret.
        query = f"watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}"
        return f"{self._gvr.path()}?{query}&resourceVersion={self._version}"

    async def _wait_until_served(self) -> None:
        """Wait until a CRD changes, at most a minute, since a new API server may also serve more.

        After a change the wait is shorter at first, and then grows. If the kind is forbidden only
        for a moment, its objects are kept.
        """
        self.served = self._has_listed = False
        synced.not_served(self.name)
        if self._optional_kinds.may_be_brief(self.name):
            self._keep_step()
            await self._crd_changes(SETTLE_SECONDS)
            return
        self._known_objects.forget()
        self._keep_step()
        if await self._crd_changes(self._look_again_seconds):
            self._look_again_seconds = SETTLE_SECONDS
            await asyncio.sleep(SETTLE_SECONDS)
        else:
            self._look_again_seconds = min(self._look_again_seconds * 2, LOOK_AGAIN_SECONDS)

    async def _crd_changes(self, seconds: float) -> bool:
        """Wait until a CRD changes, or for this long; return whether one has changed."""
        with anyio.move_on_after(seconds) as waiting:
            await self._crds.after(self._crds_seen)
        return not waiting.cancelled_caught

    async def pause(self, error: ApiError) -> None:
        """Wait before the next attempt."""
        self.up_to_date.clear()
        self.failure = error
        metrics.SOURCE_RESTARTS.inc()
        self._failures += 1
        if str(error) != self._problem:
            self._problem = str(error)
            log.warning("watch_interrupted", kind=self.name, error=self._problem)
        await self._backoff.after(error)

    def _keep_step(self) -> None:
        # Requests that run when a new list is demanded may still get a turn.
        if not self._must_list:
            self.up_to_date.set()
            self.failure = None

    def _recovered(self) -> None:
        if self._failures:
            log.info("watch_goes_on", kind=self.name, failures=self._failures)
            self._failures, self._problem = 0, ""
            self._backoff.reset()


def _page(answer: bytes) -> Page:
    try:
        return known_objects.decoded(answer, known_objects.PAGE)
    except msgspec.DecodeError as error:
        raise ApiError(0, f"no list: {error}") from error
