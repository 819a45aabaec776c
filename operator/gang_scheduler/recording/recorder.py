"""The recorder of the operator: it records gangs and nodes into files on a volume.

No disk may delay decisions. Lines are made in the event loop, a few at a time, and written in a
thread. While the disk is slow, up to MOST_WAITING bytes of lines wait. If the disk fails, or more
lines come, the recorder begins another file later, with all objects and gangs of that moment.
"""

import asyncio
import errno
import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

import anyio

from gang_scheduler import __version__, from_settings
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import Header, Line
from gang_scheduler.recording.files import RotatedFiles
from gang_scheduler.recording.gangs import Gangs
from gang_scheduler.recording.objects import Objects
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.cache import Cache
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

LOOK_SECONDS: Final = 1.0
"""The pause between two looks at what has changed: times in a recording are this exact."""
PART_SECONDS: Final = 0.02
"""Lines are made for at most this long before other tasks get a turn."""
SLICE: Final = 200
"""This many gangs are examined before other tasks get a turn."""
SLOW_SECONDS: Final = 30.0
"""The log reports a write that takes longer."""
MOST_WAITING: Final = 8 * 2**20
"""At most this many bytes wait for a slow disk, before compression."""
FIRST_PAUSE_SECONDS: Final = 2.0
LONGEST_PAUSE_SECONDS: Final = 60.0
LAST_SECONDS: Final = 1.0
"""How long the process waits for the last lines when it ends."""

log = Logger()


def header_of(
    cache: Cache, of: Policy, now: int, *, profile_of: str, anonymized: bool = False
) -> Header:
    """Return the first line of a recording that begins now."""
    return Header(
        kind=file_format.KIND,
        api_version=file_format.API_VERSION,
        version=__version__,
        begun_at=rfc3339(now),
        anonymized=anonymized,
        profile=from_settings.written_settings(of, cache),
        profile_of=profile_of,
    )


class Wrote(NamedTuple):
    """The result of a write: how many bytes it took, or the error."""

    size: int = 0
    error: OSError | None = None


class Disk:
    """Writes in a thread, one after the other. A write that hangs delays nothing else."""

    def __init__(self) -> None:
        self._due: queue.SimpleQueue[tuple[Callable[[], int], asyncio.Future[Wrote]]] = (
            queue.SimpleQueue()
        )
        self._thread: threading.Thread | None = None

    def begin(self, write: Callable[[], int]) -> "asyncio.Future[Wrote]":
        """Begin a write, and return a future with its result."""
        if self._thread is None:
            # The process may end while it waits for a disk.
            self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
            self._thread.start()
        found: asyncio.Future[Wrote] = asyncio.get_running_loop().create_future()
        self._due.put((write, found))
        return found

    def _work(self) -> None:
        while True:
            write, found = self._due.get()
            try:
                wrote = Wrote(write())
            except OSError as error:
                wrote = Wrote(error=error)
            except Exception as error:
                wrote = Wrote(error=OSError(0, repr(error)))
            try:
                found.get_loop().call_soon_threadsafe(_set, found, wrote)
            except RuntimeError:
                return  # The loop is closed: the process ends.


def _set(found: "asyncio.Future[Wrote]", wrote: Wrote) -> None:
    if not found.done():
        found.set_result(wrote)


class Recorder:
    """Records the cluster until cancelled.

    `changed` is called with gangs that have changed. `begins` makes the header of a file that
    begins at a time in seconds since the epoch.
    """

    def __init__(
        self,
        cache: Cache,
        objects: Objects,
        files: RotatedFiles,
        *,
        begins: Callable[[int], Header],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._objects = objects
        self._gangs = Gangs(cache)
        self._files = files
        self._begins = begins
        self._clock = clock
        self._disk = Disk()
        self._writing: asyncio.Future[Wrote] | None = None
        self._since = 0.0
        self._waiting: list[bytes] = []
        self._has_begun = False
        self._pause = FIRST_PAUSE_SECONDS
        self._not_before = 0.0
        self._problem = ""
        self._changed: set[GangKey] = set()
        self._again: set[GangKey] = set()

    def changed(self, keys: Collection[GangKey]) -> None:
        """Note gangs that have changed and must be looked at."""
        self._changed.update(keys)

    async def run(self) -> None:
        """Record until cancelled. Changes up to then are written if the disk is fast enough."""
        try:
            while True:
                await self.look()
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            with anyio.move_on_after(LAST_SECONDS, shield=True):
                await self._end()

    async def look(self) -> None:
        """Record the changes since the last look, as far as the disk can follow."""
        with confined("record", "the cluster") as step:
            await self._look()
        if step.failed:
            self._start_over(repr(step.error))

    async def _look(self) -> None:
        self._take_in()
        if time.monotonic() < self._not_before:
            return
        if not self._has_begun:
            if self._writing is None:
                await self._begin()
            return
        self._waiting += await self._in_parts(self._new())
        if self._writing is not None:
            if sum(map(len, self._waiting)) > MOST_WAITING:
                self._start_over("the disk is too slow")
        elif self._files.is_full:
            await self._begin()
        elif self._waiting:
            lines, self._waiting = self._waiting, []
            self._write(lambda: self._files.write(lines))

    async def _begin(self) -> None:
        """Write the lines that wait, then begin a file with all present objects and gangs."""
        now = int(self._clock())
        rest, self._waiting = self._waiting, []
        self._objects.start_over()
        self._gangs.start_over()
        self._changed.clear()
        self._again.clear()
        lines = [file_format.text_of(self._begins(now)), *await self._in_parts(self._all(now))]
        self._has_begun = True

        def begin() -> int:
            size = self._files.write(rest) if rest else 0
            return size + self._files.begin(lines, now)

        self._write(begin)

    def _all(self, now: int) -> Iterator[Line]:
        """Yield the lines of all present objects and gangs, the oldest gangs first."""
        yield from self._objects.lines(now)
        infos = self._cache.gang_queue.infos
        ages = (
            (each.in_line_since(each.observed.summary.oldest), key) for key, each in infos.items()
        )
        keys = [key for _, key in sorted(ages)]
        for first in range(0, len(keys), SLICE):
            yield from self._gangs.lines(keys[first : first + SLICE], now)

    def _new(self) -> Iterator[Line]:
        """Yield the lines of changed objects and gangs."""
        now = int(self._clock())
        changed = self._changed | self._cache.gang_queue.changed
        # A gang may change before the state that follows from the change is known, so look twice.
        due, self._again = changed | self._again, changed
        self._changed.clear()
        yield from self._objects.lines(now)
        yield from self._gangs.lines(due, now)

    async def _in_parts(self, lines: Iterable[Line]) -> list[bytes]:
        """Return lines as bytes; other tasks get turns in between."""
        found, paused = list[bytes](), time.perf_counter()
        for each in lines:
            found.append(file_format.text_of(each))
            if time.perf_counter() - paused > PART_SECONDS:
                await asyncio.sleep(0)
                paused = time.perf_counter()
        return found

    def _write(self, write: Callable[[], int]) -> None:
        self._since = time.monotonic()
        self._writing = self._disk.begin(write)

    def _take_in(self) -> None:
        """Note the result of the last write, once there is one."""
        if self._writing is None:
            return
        if not self._writing.done():
            if time.monotonic() - self._since > SLOW_SECONDS:
                self._tell(f"a write takes longer than {SLOW_SECONDS:.0f} s", "slow")
            return
        wrote, self._writing = self._writing.result(), None
        if wrote.error is not None:
            why = wrote.error.strerror or str(wrote.error)
            self._start_over(why, errno.errorcode.get(wrote.error.errno or 0, "other"))
            return
        metrics.RECORDED_BYTES.inc(wrote.size)
        self._pause = FIRST_PAUSE_SECONDS
        if self._problem and self._has_begun:
            self._problem = ""
            metrics.RECORDING_FAILING.set(0)
            log.info("recording_again", file=str(self._files.path))

    def _start_over(self, why: str, error: str = "other") -> None:
        """Drop the lines that wait, and begin another file after a pause."""
        metrics.RECORDING_ERRORS.labels(error).inc()
        self._tell(why, error)
        self._has_begun = False
        self._waiting = []
        self._not_before = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def _tell(self, why: str, error: str) -> None:
        if not self._problem:
            metrics.RECORDING_FAILING.set(1)
        if self._problem != why:
            log.warning(
                "recording_failed", directory=str(self._files.directory), why=why, error=error
            )
        self._problem = why

    async def _end(self) -> None:
        """Write the last lines, and the end of the file."""
        if self._writing is not None:
            await self._writing
        self._take_in()
        if self._has_begun:
            lines = self._waiting + await self._in_parts(self._new())
            await self._disk.begin(lambda: self._files.write(lines))
        await self._disk.begin(self._closed)

    def _closed(self) -> int:
        self._files.close()
        return 0
