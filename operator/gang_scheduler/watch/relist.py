"""Lists of all kinds, beside every watch: what a process must know before it decides anything.

A watch that has stalled, or waits for a restart, does not show what a predecessor wrote last. Kopf
cannot be asked for a list, so these lists come beside its own; the event handlers ignore objects of
older versions.
"""

from typing import Any

import anyio

from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.event_handlers import EventHandlers, KindHandler
from gang_scheduler.telemetry import metrics
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.synced import ChangeCount


class Relist:
    """Takes in all objects anew, on demand."""

    def __init__(self, connection: Connection, event_handlers: EventHandlers) -> None:
        self._connection = connection
        self._event_handlers = event_handlers

    async def everything(self) -> None:
        """Return when the cache has every change, and every deletion, from before this call.

        Every list is repeated until it is answered.
        """
        async with anyio.create_task_group() as group:
            for handler in self._event_handlers.all:
                group.start_soon(self._kind, handler, name=f"list {handler.name}")

    async def _kind(self, handler: KindHandler[Any]) -> None:
        # Only what was known before the list was asked for can be missing from it by deletion.
        known = set(handler.uids())
        metrics.RELISTS.labels(handler.name).inc()
        known_objects = KnownObjects(handler, self._event_handlers.versions)
        lists = ListWatch(self._connection, handler.versions, known_objects, ChangeCount())
        while True:
            try:
                await lists.list_once()
                break
            except ApiError as error:
                await lists.pause(error)
        if lists.forbidden:
            return  # What is known of it counts until the sweep knows better.
        gone = known.difference(known_objects.uids)
        for uid in gone:
            handler.missing(uid)
        metrics.SWEPT.labels(handler.name).inc(len(gone))
