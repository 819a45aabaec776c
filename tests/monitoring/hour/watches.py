"""The source of the scripted hour: watches that can fall silent, or miss a deletion."""

import asyncio
from typing import Final

import anyio

from gang_scheduler.api.kinds import GVR, PODS
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import Change, Document
from gang_scheduler.decode.events import EventHandlers
from gang_scheduler.state import kinds
from gang_scheduler.telemetry import metrics
from gang_scheduler.watch import synced
from gang_scheduler.watch.sweep import Sweep

ECHO_SECONDS: Final = 0.05
BOOKMARK_SECONDS: Final = 60
NEVER: Final = 1e9


class Watches:
    """Feeds the operator.

    Of a kind in `silent` there is no sign of life; of the pods in `missed` no deletion is told.
    """

    def __init__(self, api: FakeApi, event_handlers: EventHandlers) -> None:
        self.silent: set[str] = set()
        self.missed: set[str] = set()
        self.not_served: list[str] = []
        self.forbidden: list[str] = []
        self._cluster = api.cluster
        self._handlers = event_handlers
        self._sweep = Sweep(api, event_handlers, NEVER)
        self._told: asyncio.Queue[tuple[float, GVR, Change, Document]] = asyncio.Queue()
        self._gvrs = [each.reader.gvr for each in kinds.KINDS]

    async def run(self) -> None:
        """List all that there is, then tell of changes and send bookmarks, until cancelled."""
        for gvr in sorted(self._gvrs, key=lambda gvr: gvr == PODS):
            synced.seen(gvr.name)
            for document in self._cluster.all(gvr):
                self._tell(gvr, "ADDED", document)
        self._cluster.watchers.append(self._hear)
        async with anyio.create_task_group() as group:
            group.start_soon(self._changes)
            group.start_soon(self._bookmarks)

    async def complete(self) -> None:
        """Return: the lists are told before anything else runs."""

    async def catch_up(self) -> None:
        """Return when all is told."""

    async def fresh(self) -> None:
        """Return at once."""

    async def sweep(self) -> None:
        """Find the deletions that were missed."""
        await self._sweep.sweep_all()

    def list_again(self, kind: str) -> None:
        """Begin the watch of a kind again, with a list."""
        self.silent.discard(kind)
        metrics.RELISTS.labels(kind).inc()
        synced.seen(kind)

    def begin_anew(self, kind: str) -> None:
        """Begin the watch of a kind anew, because it has stopped."""
        metrics.WATCHES_BEGUN_ANEW.labels(kind).inc()

    def restart(self) -> None:
        """Begin all watches again."""
        metrics.SOURCE_RESTARTS.inc()

    def _hear(self, gvr: GVR, change: Change, document: Document) -> None:
        missed = change == "DELETED" and document["metadata"]["name"] in self.missed
        if gvr in self._gvrs and not missed:
            due = asyncio.get_running_loop().time() + ECHO_SECONDS
            self._told.put_nowait((due, gvr, change, document))

    async def _changes(self) -> None:
        while True:
            due, gvr, change, document = await self._told.get()
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            synced.seen(gvr.name)
            self._tell(gvr, change, document)

    async def _bookmarks(self) -> None:
        """Give signs of life at half past each minute."""
        await asyncio.sleep(BOOKMARK_SECONDS / 2)
        while True:
            for gvr in self._gvrs:
                if gvr.name not in self.silent:
                    synced.seen(gvr.name)
            await asyncio.sleep(BOOKMARK_SECONDS)

    def _tell(self, gvr: GVR, change: Change, document: Document) -> None:
        self._handlers.of(gvr).handle({"type": change, "object": document})
