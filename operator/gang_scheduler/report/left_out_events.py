"""Tells people which objects were left out because they cannot be read, and why."""

import structlog

from gang_scheduler.decode import unreadable
from gang_scheduler.decode.left_out import LeftOut, LeftOutObjects
from gang_scheduler.internal_errors import confined
from gang_scheduler.report.events import About, Events

log = structlog.get_logger()


class LeftOutEvents:
    """An Event on each object, and a warning in the log."""

    def __init__(self, left_out: LeftOutObjects, events: Events) -> None:
        self._left_out = left_out
        self._events = events

    async def run(self) -> None:
        """Tell of every object at once, until cancelled."""
        while True:
            left_out = await self._left_out.next()
            with confined("report", left_out.kind):
                self.tell(left_out)

    def tell(self, left_out: LeftOut) -> None:
        """Tell of an object; of one without a name in the log alone."""
        kind, obj, why = left_out
        found = unreadable.identity(obj)
        names = {"namespace": found.namespace, "name": found.name}
        log.warning("object_left_out", kind=kind, **names, why=str(why))
        if not found.name:
            return  # There is nothing that an Event could be about.
        about = About(str(obj.get("apiVersion", "v1")), kind, **names, uid=found.uid)
        self._events.record(about, "FailedScheduling", f"left out: {why}", warning=True)
