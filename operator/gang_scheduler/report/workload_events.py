"""Events on workloads that wait suspended: started, not started after all, suspended again."""

from typing import Final

from gang_scheduler.api.suspend_fields import SUSPEND_FIELDS
from gang_scheduler.model.causes.admissions import WorkloadChanged, WorkloadGone
from gang_scheduler.model.causes.binding import NotLeading
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.suspended import (
    Admission,
    ManagedWorkload,
    SuspendedFor,
    Suspension,
)
from gang_scheduler.report.events import About, Events
from gang_scheduler.report.texts.cause_texts import text_of

UNTOLD: Final = (NotLeading, WorkloadChanged, WorkloadGone)
"""Causes that need no user: the workload is decided on anew, or is not there any more."""
REASONS: Final = {
    SuspendedFor.PODS_MISSING: "its pods were not created in time; it waits, and is tried later",
    SuspendedFor.EVICTED: "it was evicted; it waits in its queue again",
}


class WorkloadEvents:
    """What users can read of what was written to a workload."""

    def __init__(self, events: Events) -> None:
        self._events = events

    def admitted(self, admission: Admission) -> None:
        """Report that a workload was started, by which queue and on which flavors."""
        where = ", ".join(f"{resource} in {flavor}" for resource, flavor in admission.flavors)
        by = f" by queue {admission.queue}" if admission.queue else ""
        note = f"Admitted{by}{f': {where}' if where else ''}; its pods may be created"
        self._events.record(_about(admission.workload), "Admitted", note)

    def not_admitted(self, admission: Admission, why: Cause) -> None:
        """Report that a workload could not be started, where that is for a user to know."""
        if not isinstance(why, UNTOLD):
            about = _about(admission.workload)
            self._events.record(about, "AdmissionFailed", text_of(why), warning=True)

    def suspended(self, suspension: Suspension) -> None:
        """Report that a workload is suspended again, and why."""
        note = f"Suspended: {REASONS[suspension.why]}"
        warning = suspension.why is SuspendedFor.PODS_MISSING
        self._events.record(_about(suspension.workload), "Suspended", note, warning=warning)


def _about(workload: ManagedWorkload) -> About:
    kind, namespace, name, uid, *_ = workload
    version = SUSPEND_FIELDS[kind].versions[0].api_version
    return About(version, kind, namespace, name, uid)
