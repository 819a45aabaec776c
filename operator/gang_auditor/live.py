"""Events from a live cluster, or from a recording of one.

Each kind is listed, and then watched from the version of the list. A watch that breaks is resumed
from the last version. If the API server has forgotten that version (410), a new list follows,
which shows the deletions in between. Only the connection is shared with the scheduler, nothing of
`watch/`.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, Self
from urllib.parse import quote

import anyio
import msgspec

from gang_auditor import watch_events
from gang_auditor.kinds_watched import WATCHED, Watched
from gang_auditor.watch_events import BROKEN, LISTED, LISTING, RESUMED, Event, UnreadableLineError
from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.backoff import Backoff
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import UNREADABLE, ApiError, Kind

PAGE: Final = 500
WATCH_SECONDS: Final = 300
SILENT_SECONDS: Final = 90.0
"""A watch is broken if it is silent for longer.

The API server sends a bookmark about once a minute.
"""
LOOK_AGAIN_SECONDS: Final = 15.0
"""The pause before the next attempt for a kind that is not served, or may not be read."""
FORBIDDEN: Final = 403
EXPIRED: Final = 410

Handle = Callable[[Event], None]
Tell = Callable[[str], None]


class Live:
    """Passes the events of a cluster to `handle`, one by one.

    `tell` gets messages on kinds that cannot be read. All objects of a list are passed on together,
    without events of other kinds between them.
    """

    def __init__(
        self,
        connection: Connection,
        handle: Handle,
        tell: Tell,
        page_seconds: float,
        watched: Sequence[Watched] = WATCHED,
    ) -> None:
        self._connection = connection
        self._handle = handle
        self._tell = tell
        self._page_seconds = page_seconds
        self._streams = [_Stream(self, each) for each in watched]

    async def list_all(self) -> None:
        """List all kinds. Raises ApiError if a needed kind cannot be listed."""
        for each in self._streams:
            await each.list_first()

    async def run(self) -> None:
        """Watch all kinds until cancelled, after a list of all."""
        async with anyio.create_task_group() as group:
            for each in self._streams:
                group.start_soon(each.run)

    async def bodies(self, watched: Watched, gvr: GVR) -> tuple[list[dict[str, Any]], str]:
        """Return all objects of a kind, and the version of the list. Raises ApiError."""
        found: list[dict[str, Any]] = []
        following = ""
        while True:
            query = f"limit={PAGE}&continue={quote(following)}{_selector(watched)}"
            path = f"{gvr.path()}?{query}"
            answer = await self._connection.request("GET", path, timeout_seconds=self._page_seconds)
            page = _decoded(answer)
            found += (_whole(watched, gvr, each) for each in page.get("items") or ())
            metadata = page.get("metadata") or {}
            following = metadata.get("continue") or ""
            if not following:
                return found, str(metadata.get("resourceVersion") or "")

    def listed(self, watched: Watched, found: Sequence[dict[str, Any]]) -> None:
        """Pass on all objects of a kind, as a list showed them."""
        now = time.time()
        kind = _kind(watched)
        self._handle(Event(now, LISTING, kind))
        for each in found:
            self._handle(Event(now, "ADDED", each))
        self._handle(Event(now, LISTED, kind))

    def note(self, watched: Watched, kind: str) -> None:
        """Pass on that a watch broke, or was resumed."""
        self._handle(Event(time.time(), kind, _kind(watched)))

    def changed(self, watched: Watched, gvr: GVR, event: dict[str, Any]) -> None:
        """Pass on a change of an object."""
        self._handle(Event(time.time(), event["type"], _whole(watched, gvr, event["object"])))

    def say(self, words: str) -> None:
        """Report a kind that cannot be judged."""
        self._tell(words)

    def stream(self, path: str) -> Any:  # noqa: ANN401 - a context of chunks.
        """Open a watch at a path."""
        return self._connection.stream(path, silence_seconds=SILENT_SECONDS)


class _Stream:
    """The list and the watch of one kind."""

    def __init__(self, live: Live, watched: Watched) -> None:
        self._live = live
        self._watched = watched
        self._gvr: GVR | None = None
        self._version = ""
        self._backoff = Backoff(0.1, 4.0)
        self._is_broken = False
        self._said = ""

    async def list_first(self) -> None:
        """List the kind. An error is raised only if the kind is needed."""
        while True:
            try:
                return await self._list()
            except ApiError as error:
                if error.kind is not Kind.THROTTLED and error.status != EXPIRED:
                    raise
                await self._backoff.after(error)

    async def run(self) -> None:
        """Watch, and list again if necessary. Runs until cancelled."""
        while True:
            try:
                if self._gvr is None:
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)
                    await self._list()
                else:
                    await self._watch(self._gvr)
            except ApiError as error:
                await self._after(error)

    async def _after(self, error: ApiError) -> None:
        if not self._is_broken:
            self._is_broken = True
            self._live.note(self._watched, BROKEN)
        await self._backoff.after(error)
        if error.status in (EXPIRED, FORBIDDEN) or error.kind is Kind.GONE:
            try:
                await self._list()
            except ApiError as again:
                await self._backoff.after(again)

    async def _list(self) -> None:
        """List the kind in the best version that is served, and pass the objects on."""
        for gvr in self._watched.versions:
            try:
                found, self._version = await self._live.bodies(self._watched, gvr)
            except ApiError as error:
                if self._watched.needed or (
                    error.kind is not Kind.GONE and error.status != FORBIDDEN
                ):
                    raise
                self._not_read(error)
            else:
                self._live.listed(self._watched, found)
                self._gvr, self._is_broken = gvr, False
                return
        if self._gvr is not None:
            # Its CRD was deleted, and with it all objects.
            self._live.listed(self._watched, ())
        self._gvr = None

    def _not_read(self, error: ApiError) -> None:
        if error.status == FORBIDDEN and self._said != error.message:
            self._said = error.message
            self._live.say(f"{self._watched.name} are not judged: {error.message}")

    async def _watch(self, gvr: GVR) -> None:
        query = f"watch=true&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
        query += f"&resourceVersion={self._version}{_selector(self._watched)}"
        async with self._live.stream(f"{gvr.path()}?{query}") as chunks:
            if self._is_broken:
                self._is_broken = False
                self._live.note(self._watched, RESUMED)
            async for line in _lines(chunks):
                self._line(gvr, line)

    def _line(self, gvr: GVR, line: bytes) -> None:
        event = _decoded(line)
        found = event.get("object") or {}
        if event.get("type") == "ERROR":
            raise ApiError(int(found.get("code") or 0), str(found.get("message") or "error"))
        self._version = (found.get("metadata") or {}).get("resourceVersion") or self._version
        self._backoff.reset()
        if event.get("type") != "BOOKMARK":
            self._live.changed(self._watched, gvr, event)


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line:
                yield line


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except UNREADABLE as error:
        raise ApiError(0, f"no JSON: {error}") from error


def _selector(watched: Watched) -> str:
    return f"&fieldSelector={quote(watched.selector)}" if watched.selector else ""


def _kind(watched: Watched) -> dict[str, Any]:
    return {"apiVersion": watched.versions[0].api_version, "kind": watched.kind}


def _whole(watched: Watched, gvr: GVR, found: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the fields that lists leave out, and without managedFields."""
    (found.get("metadata") or {}).pop("managedFields", None)
    return {**found, "apiVersion": gvr.api_version, "kind": watched.kind}


# Recordings are written while events come, and can be judged again later.


class Recorder:
    """Writes events to a file, each at once. Use as a context manager. May raise OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        self._file = self._path.open("wb", buffering=0)
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, event: Event) -> None:
        """Write an event."""
        if self._file is None:
            raise RuntimeError("the recording is not open")
        self._file.write(event.line)


def read_recording(lines: Iterable[bytes], name: str) -> Iterator[Event]:
    """Yield the events of a recording; its last line may be cut off.

    Raises UnreadableLineError, with the name of the recording and the number of the line.
    """
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            return
        try:
            yield watch_events.of_line(line)
        except UnreadableLineError as error:
            raise UnreadableLineError(f"{name}:{number}: {error}") from error
