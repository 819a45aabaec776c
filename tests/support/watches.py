"""Tells a cache of the objects of a fake cluster: some time later, as watches do, or at once."""

import asyncio
from collections.abc import Callable, Collection
from typing import Final

from gang_scheduler.api.kinds import GVR, PODS
from gang_scheduler.client.fake.cluster import SERVED, Change, Document, FakeCluster
from gang_scheduler.decode.events import EventHandlers
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.kinds import KINDS
from support import cache_feeding

ECHO_SECONDS: Final = 0.05
WATCHED: Final = tuple(gvr for kind in KINDS for gvr in kind.reader.versions if gvr in SERVED)
"""Every kind that there is and that is watched."""


class DelayedWatch:
    """One watch of these kinds. `echo_seconds` is how long after a change it is told.

    What changes between `begin` and `end` is told while `run` runs.
    """

    def __init__(
        self,
        cluster: FakeCluster,
        cache: Cache,
        echo_seconds: Callable[[], float] = lambda: ECHO_SECONDS,
        kinds: Collection[GVR] = WATCHED,
    ) -> None:
        self._cluster = cluster
        self._kinds = kinds
        self._event_handlers = cache_feeding.event_handlers(cache)
        self._echo_seconds = echo_seconds
        self._changes: asyncio.Queue[tuple[float, GVR, Change, Document]] = asyncio.Queue()

    def list(self) -> None:
        """Tell of all that there is, pods last."""
        for gvr in sorted(self._kinds, key=lambda gvr: gvr == PODS):
            for document in self._cluster.all(gvr):
                self._tell(gvr, "ADDED", document)

    def begin(self) -> None:
        """Hear of changes from now on."""
        self._cluster.watchers.append(self._hear)

    def end(self) -> None:
        """Hear of no more changes."""
        self._cluster.watchers.remove(self._hear)

    async def run(self) -> None:
        """Tell of what was heard, for ever."""
        while True:
            due, gvr, change, document = await self._changes.get()
            await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
            self._tell(gvr, change, document)
            self._changes.task_done()

    async def told_all(self) -> None:
        """Wait until everything that was heard is told."""
        await self._changes.join()

    def _hear(self, gvr: GVR, change: Change, document: Document) -> None:
        if gvr in self._kinds:
            due = asyncio.get_running_loop().time() + self._echo_seconds()
            self._changes.put_nowait((due, gvr, change, document))

    def _tell(self, gvr: GVR, change: str, document: Document) -> None:
        self._event_handlers.of(gvr).handle({"type": change, "object": document})


def tell_at_once(cluster: FakeCluster, cache: Cache, kinds: Collection[GVR]) -> EventHandlers:
    """Let a cache see every change of these kinds before the write returns; return what tells."""
    event_handlers = cache_feeding.event_handlers(cache)

    def hear(gvr: GVR, change: Change, document: Document) -> None:
        if gvr in kinds:
            event_handlers.of(gvr).handle({"type": change, "object": document})

    cluster.watchers.append(hear)
    return event_handlers
