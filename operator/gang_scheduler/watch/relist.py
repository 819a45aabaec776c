"""Lists of all kinds, beside every watch: what a process must know before it decides anything.

A watch that has stalled, or waits for a restart, does not show what a predecessor wrote last. Kopf
cannot be asked for a list, so these lists come beside its own; the event handlers ignore objects of
older versions.
"""

import asyncio

import anyio

from gang_scheduler import telemetry
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.state.cache import Cache
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.watched_kinds import WATCHED, Watched


class Relist:
    """Takes in all objects anew, on demand."""

    def __init__(self, connection: Connection, cache: Cache, event_handlers: EventHandlers) -> None:
        self._connection = connection
        self._cache = cache
        self._event_handlers = event_handlers

    async def everything(self) -> None:
        """Return when the cache has every change, and every deletion, from before this call.

        Every list is repeated until it is answered.
        """
        async with anyio.create_task_group() as group:
            for kind in WATCHED:
                group.start_soon(self._kind, kind, name=f"list {kind.name}")

    async def _kind(self, kind: Watched) -> None:
        gvr = kind.versions[0]
        # Only objects known before the request can be missing from the list by deletion.
        known = set(self._cache.uids(gvr))
        known_objects = KnownObjects(kind, self._event_handlers)
        lists = ListWatch(self._connection, kind, known_objects, asyncio.Event())
        while True:
            try:
                await lists.list_once()
                break
            except ApiError as error:
                await lists.pause(error)
        gone = known.difference(known_objects.uids)
        for uid in gone:
            self._event_handlers.missing(uid)
            self._cache.uid_gone(gvr, uid)
        telemetry.SWEPT.labels(gvr.plural).inc(len(gone))
