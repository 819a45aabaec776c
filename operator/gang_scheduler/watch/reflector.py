"""The lean source: its own lists and watches, without Kopf, for large clusters.

Bytes of pods and nodes are decoded once, straight into structs. Objects that are missing from a new
list are deleted immediately, so no sweep is needed.
"""

import anyio

from gang_scheduler.api.kinds import CRDS
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.errors import ApiError
from gang_scheduler.decode.reader import HasMetadata, Object
from gang_scheduler.telemetry.logger import Logger
from gang_scheduler.watch import kinds, list_watch
from gang_scheduler.watch.known_objects import Handler, Handlers, KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.synced import ChangeCount

log = Logger()


class Reflector:
    """A source with one task for each kind, and one for CRDs, which announce new kinds."""

    def __init__(self, connection: Connection, event_handlers: Handlers) -> None:
        self._crd_changes = ChangeCount()
        self._kinds = [
            self._list_watch(connection, event_handlers, each) for each in event_handlers.all
        ]
        self._crds = self._list_watch(
            connection, event_handlers, _Crds(self._crd_changes), list_watch.METADATA_ONLY
        )

    @property
    def not_served(self) -> list[str]:
        """The kinds without a CRD, as of the last list."""
        return [each.name for each in self._kinds if not each.served]

    @property
    def forbidden(self) -> list[str]:
        """The kinds that may not be read, as of the last list."""
        return [name for each in self._kinds for name in each.forbidden]

    def failure(self, *, decisive: bool) -> ApiError | None:
        """Return why a kind is out of step at present, or None; `decisive`: of pods and nodes."""
        of = (each for each in self._kinds if not decisive or each.name in kinds.DECISIVE)
        return next((each.failure for each in of if each.failure is not None), None)

    @property
    def failures(self) -> dict[str, ApiError]:
        """Why kinds are out of step at present, by the name of each."""
        return {each.name: each.failure for each in self._kinds if each.failure is not None}

    async def run(self) -> None:
        """Run until cancelled. A watch that ends is followed by a new one."""
        async with anyio.create_task_group() as group:
            for each in (self._crds, *self._kinds):
                group.start_soon(each.run, name=f"watch {each.name}")

    async def complete(self) -> None:
        """Return when every object of the first lists is in the sink."""
        await self._wait_until_up_to_date()
        log.info("first_lists_complete", kinds_not_served=self.not_served)

    async def catch_up(self) -> None:
        """Return once the sink has every object of lists that are requested from now on.

        The watches are not enough: one may have stalled without a sign.
        """
        for each in self._kinds:
            each.list_anew()
        await self._wait_until_up_to_date()

    def begin_anew(self, kind: str) -> None:
        """Restart the watch of a kind with a list, even if it is in the middle of one."""
        for each in (self._crds, *self._kinds):
            if each.name == kind:
                each.list_anew()

    async def fresh(self) -> None:
        """Return at once, unless the watches of pods and nodes have missed events for long."""
        for each in self._kinds:
            if each.name in kinds.DECISIVE:
                await each.up_to_date.fresh()

    async def _wait_until_up_to_date(self) -> None:
        for each in self._kinds:
            await each.up_to_date.wait()

    def _list_watch(
        self,
        connection: Connection,
        event_handlers: Handlers,
        handler: Handler,
        accept: tuple[str, str] = list_watch.FULL,
    ) -> ListWatch:
        known_objects = KnownObjects(handler, event_handlers.versions)
        return ListWatch(connection, handler.versions, known_objects, self._crd_changes, accept)


class _Crds:
    """Handles the events of CRDs: after any change, another kind may be served."""

    name = CRDS.name
    versions = (CRDS,)
    decoder = None

    def __init__(self, changes: ChangeCount) -> None:
        self._changes = changes

    def handle(self, _: Object) -> None:
        """Count the change."""
        self._changes.changed()

    def handle_decoded(self, _: str, __: HasMetadata) -> None:
        """Do nothing: kinds without a decoder never come this way."""
