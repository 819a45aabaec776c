"""Tells workloads that they ask for a gang where their pods do not get it from."""

from collections.abc import Collection, Mapping
from typing import Final

from gang_scheduler.api.kinds import JOB_SETS, JOBS, STATEFUL_SETS
from gang_scheduler.decode.gangs.gang_objects import MisplacedRequest
from gang_scheduler.decode.workloads import misplaced_requests
from gang_scheduler.model import gang_sources
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.texts.cause_texts import text_of

REASON: Final = "InvalidGang"
_GVRS: Final = {
    gang_sources.JOB.object_kind: JOBS,
    gang_sources.JOB_SET.object_kind: JOB_SETS,
    misplaced_requests.STATEFUL_SET: STATEFUL_SETS,
}


class MisplacedRequestEvents:
    """An Event on each such workload, once: when it is seen, since its pods may be bound by then.

    `requests` are by the uid of the workload, and change. Those for other schedulers than
    `schedulers` are none of ours.
    """

    def __init__(
        self,
        requests: Mapping[str, MisplacedRequest],
        schedulers: Collection[str],
        events: Events,
    ) -> None:
        self._requests = requests
        self._schedulers = schedulers
        self._events = events
        self._told: set[str] = set()

    def tell(self) -> None:
        """Tell of the workloads that came since the last time. Costs nothing without any."""
        if not self._requests:
            return
        self._told &= self._requests.keys()
        for uid in sorted(self._requests.keys() - self._told):
            self._told.add(uid)
            request = self._requests[uid]
            if not request.schedulers.isdisjoint(self._schedulers):
                kind, namespace, name = request.workload
                about = About(_GVRS[kind].api_version, kind, namespace, name, uid)
                self._events.record(about, REASON, text_of(request.problem.cause), warning=True)
