"""The lean source: lists and watches of our own, without Kopf, for large clusters.

Bytes of pods and nodes are decoded once, straight into structs. Objects that are missing from a new
list are deleted at once, so no sweep is needed.
"""

import asyncio
from typing import Final

import anyio
import structlog

from gang_scheduler.api.kinds import GVR
from gang_scheduler.client.connection import Connection
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.watch import list_watch, watched_kinds
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.watched_kinds import WATCHED, Watched

CRDS: Final = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")

log = structlog.get_logger()


class Reflector:
    """A source with one task for each kind, and one for CRDs, which announce new kinds."""

    def __init__(self, connection: Connection, event_handlers: EventHandlers) -> None:
        self._crds_changed = asyncio.Event()
        self._kinds = [
            ListWatch(connection, kind, KnownObjects(kind, event_handlers), self._crds_changed)
            for kind in WATCHED
        ]
        crds = Watched((CRDS,), lambda *_: self._crd_changed())
        self._crds = ListWatch(
            connection,
            crds,
            KnownObjects(crds, event_handlers),
            self._crds_changed,
            list_watch.METADATA_ONLY,
        )

    async def run(self) -> None:
        """Run until cancelled. A watch that ends is followed by a new one."""
        async with anyio.create_task_group() as group:
            for each in (self._crds, *self._kinds):
                group.start_soon(each.run, name=f"watch {each.kind.name}")

    async def complete(self) -> None:
        """Return when every object of the first lists is in the sink."""
        await self._in_step()
        absent = [each.kind.name for each in self._kinds if not each.served]
        log.info("first_lists_complete", kinds_not_served=absent)

    async def catch_up(self) -> None:
        """Return when lists that are requested from now on are in the sink.

        A watch may have stalled without a sign.
        """
        for each in self._kinds:
            each.list_anew()
        await self._in_step()

    async def fresh(self) -> None:
        """Return when the watches of pods and nodes are in step, or have not been out for long."""
        for each in self._kinds:
            if each.kind.name in watched_kinds.DECISIVE:
                await each.in_step.fresh()

    async def _in_step(self) -> None:
        for each in self._kinds:
            await each.in_step.wait()

    def _crd_changed(self) -> None:
        """Wake the tasks that wait now; tasks that wait later find the event cleared."""
        self._crds_changed.set()
        self._crds_changed.clear()
