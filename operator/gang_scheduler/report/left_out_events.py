"""Tells people which objects were left out because they cannot be read, and why."""

from collections.abc import Collection
from typing import Final

from gang_scheduler.decode import unreadable
from gang_scheduler.decode.left_out import LeftOut, LeftOutObjects
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Reason
from gang_scheduler.report.events import About, Events
from gang_scheduler.telemetry.logger import Logger

SCHEDULED: Final = frozenset({"Pod", "PodGroup", "Job", "JobSet"})
"""Kinds that are scheduled, or whose pods are: of others it is only told what is wrong."""

log = Logger()


class LeftOutEvents:
    """An Event on each object, and a warning in the log.

    A pod of ours that waits with what is wrong has its condition, and its gang an Event: these say
    more, and are enough. `schedulers` are our own names.
    """

    def __init__(
        self, left_out: LeftOutObjects, events: Events, schedulers: Collection[str]
    ) -> None:
        self._left_out = left_out
        self._events = events
        self._schedulers = schedulers

    async def run(self) -> None:
        """Tell of every object at once, until cancelled."""
        while True:
            left_out = await self._left_out.next()
            with confined("report", left_out.kind):
                self.tell(left_out)

    def tell(self, left_out: LeftOut) -> None:
        """Tell of an object; of one without a name in the log alone."""
        kind, obj, why, holds = left_out
        found = unreadable.identity(obj)
        names = {"namespace": found.namespace, "name": found.name}
        log.warning("object_left_out", kind=kind, **names, why=str(why))
        if not found.name or self._waits_with_problem(holds):
            return  # There is nothing that an Event could be about, or another one says it.
        version = str(obj.get("apiVersion", "v1"))
        about = About(version, kind, found.namespace, found.name, found.uid)
        reason = "FailedScheduling" if kind in SCHEDULED else Reason.INVALID_SPEC.value
        # A queue that cannot be read is there all the same, and what hangs below it.
        what = "not active" if isinstance(holds, DeclaredQueue) else "left out"
        self._events.record(about, reason, f"{what}: {why}", warning=True)

    def _waits_with_problem(self, holds: object) -> bool:
        """Return whether what holds of an object is a pod that the scheduler gives a verdict on."""
        if not isinstance(holds, Pod) or holds.scheduler not in self._schedulers:
            return False
        return holds.problem is not None and holds.living and not holds.node
