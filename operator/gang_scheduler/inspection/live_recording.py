"""Records what changes about the nodes and gangs of a cluster, with the rights of a reader.

The cluster is watched as the operator watches it, and the objects are kept in the same cache.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Final

import anyio
import msgspec

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.inspection import live
from gang_scheduler.inspection.servers import Server
from gang_scheduler.inspection.snapshots import pseudonyms
from gang_scheduler.inspection.snapshots.pseudonyms import GrowingPseudonyms, Rename
from gang_scheduler.recording import file_format, recorder
from gang_scheduler.recording.file_format import Gang, Header, Line
from gang_scheduler.recording.gangs import Gangs
from gang_scheduler.recording.objects import Objects
from gang_scheduler.state.cache import Cache
from gang_scheduler.watch.list_once import Unlisted
from gang_scheduler.watch.reflector import Reflector

LOOK_SECONDS: Final = 1.0
"""The pause between two looks at what has changed: times in a recording are this exact."""
NEEDS: Final = (
    "a recording needs the rights to list and watch nodes, and pods in all namespaces; the "
    "ClusterRole of the chart for readers has them"
)
SILENT: Final = "the API server does not answer; what happens is recorded once it does"
_NAMES: Final = (*("name", "namespace", "gpu_type", "queue", "priority_class", "topology", "user"),)
"""The fields of a gang that are names."""

Write = Callable[[Sequence[bytes]], Awaitable[None]]
Tell = Callable[[str], None]


class Recording:
    """Records a cluster; counts the recorded gangs, and how many of these have ended."""

    def __init__(self, write: Write, tell: Tell, names: GrowingPseudonyms | None = None) -> None:
        self.gangs = 0
        self.ended = 0
        self._write = write
        self._tell = tell
        self.has_begun = False
        self._names = names
        self._is_fresh = True

    async def run(self, server: Server, seconds: float | None = None) -> None:
        """Record until cancelled, or for this many seconds after the recording has begun.

        Changes up to the end are written, too. Raises ApiError, 403 if nodes or pods may not be
        watched.
        """
        await _must_be_allowed(server)
        operator = await live.read_profiles(server)
        objects = Objects()
        cache, left_out, event_handlers = live.empty(operator.policy, objects)
        gangs = Gangs(cache)
        reflector = Reflector(server.connection, event_handlers)
        async with anyio.create_task_group() as group:
            group.start_soon(reflector.run)
            await reflector.complete()
            unlisted = Unlisted(tuple(reflector.not_served), tuple(reflector.forbidden))
            notes = await live.quota_notes(server, cache, unlisted)
            for note in (*operator.notes, *notes, *live.notes_about(left_out)):
                self._tell(note)
            now = int(time.time())
            header = recorder.header_of(
                *(cache, operator.policy, now),
                profile_of=operator.settings_of,
                anonymized=self._names is not None,
            )
            cache.snapshot_to_place(now)
            first = [*objects.lines(now), *gangs.lines(cache.gang_queue.infos.keys(), now)]
            cache.gang_queue.changed.clear()
            await self._record([header, *first])
            self.has_begun = True
            nodes = sum(1 for each in first if (each.object or {}).get("kind") == file_format.NODE)
            self._tell(f"recording {nodes} nodes; {self.gangs} gangs are there")
            try:
                with anyio.move_on_after(seconds):
                    while True:
                        await anyio.sleep(LOOK_SECONDS)
                        await self._look(cache, objects, gangs)
                        await self._watch_over(reflector)
                        for _ in left_out.take_all():
                            pass  # The operator reports objects that become unreadable meanwhile.
                await self._look(cache, objects, gangs)
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    await self._look(cache, objects, gangs)
                raise
            group.cancel_scope.cancel()

    async def _look(self, cache: Cache, objects: Objects, gangs: Gangs) -> None:
        """Record what has changed since the last look."""
        now = int(time.time())
        cache.snapshot_to_place(now)
        keys = set(cache.gang_queue.changed)
        cache.gang_queue.changed.clear()
        await self._record([*objects.lines(now), *gangs.lines(keys, now)])

    async def _watch_over(self, reflector: Reflector) -> None:
        """Say when watches have been behind for long, and when they are up to date again."""
        with anyio.move_on_after(0) as waiting:
            await reflector.fresh()
        if self._is_fresh is waiting.cancelled_caught:
            self._is_fresh = not self._is_fresh
            at = f"{datetime.now(UTC):%H:%M:%S} UTC"
            self._tell(f"{at}: {'the API server answers again' if self._is_fresh else SILENT}")

    async def _record(self, lines: Sequence[Header | Line]) -> None:
        for each in lines:
            if isinstance(each, Line):
                self.gangs += each.gang is not None
                self.ended += each.ended is not None
        if self._names is not None:
            lines = anonymized(lines, self._names)
        if lines:
            # The changes were taken out of the cache already, and would be lost.
            with anyio.CancelScope(shield=True):
                await self._write([file_format.text_of(each) for each in lines])


async def _must_be_allowed(server: Server) -> None:
    """Raise ApiError if nodes or pods may not be listed and watched; an error on nodes comes first.

    A watch would retry forever, and wait until the right is given.
    """
    queries = ("limit=1", "watch=true&timeoutSeconds=1&limit=1")
    paths = (f"{gvr.path()}?{query}" for gvr in (NODES, PODS) for query in queries)
    seconds = server.request_seconds
    replies = await asyncio.gather(
        *(server.connection.request("GET", each, timeout_seconds=seconds) for each in paths),
        return_exceptions=True,
    )
    for each in replies:
        if isinstance(each, BaseException):
            raise each


def anonymized(lines: Iterable[Header | Line], names: GrowingPseudonyms) -> list[Header | Line]:
    """Return lines with pseudonyms; `names` also learns the pseudonyms of new names."""
    lines = list(lines)
    found: set[str] = set()

    def note(text: str) -> str:
        found.add(text)
        return text

    for each in lines:
        _renamed(each, note)
    names.learn(found)
    return [_renamed(each, names.text) for each in lines]


def _renamed(line: Header | Line, rename: Rename) -> Header | Line:
    if isinstance(line, Header):
        profile = pseudonyms.profile(line.profile, rename)
        return msgspec.structs.replace(line, profile=profile, profile_of=rename(line.profile_of))
    if line.object is not None:
        body = pseudonyms.renamed_object(line.object, rename)
        return msgspec.structs.replace(line, object=body)
    if line.gone is not None:
        namespace, name = rename(line.gone.namespace), rename(line.gone.name)
        gone = msgspec.structs.replace(line.gone, namespace=namespace, name=name)
        return msgspec.structs.replace(line, gone=gone)
    if line.gang is not None:
        return msgspec.structs.replace(line, gang=_gang(line.gang, rename))
    return line


def _gang(gang: Gang, rename: Rename) -> Gang:
    changed = {name: rename(getattr(gang, name)) for name in _NAMES if getattr(gang, name)}
    return msgspec.structs.replace(gang, **changed)
