"""What users read of workloads that are started and suspended."""

import pytest

from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.causes.gangs import ApiAnswer, NotLeading
from gang_scheduler.model.causes.queues import PatchForbidden, WorkloadChanged, WorkloadGone
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.suspended import Admission, ManagedWorkload, SuspendedFor, Suspension
from gang_scheduler.report.events import Events
from gang_scheduler.report.workload_events import WorkloadEvents
from support import parts

JOB = ManagedWorkload("PyTorchJob", "ns", "train", "u1")

pytestmark = pytest.mark.looptime


class Told:
    """Events that are kept, and not sent."""

    def __init__(self) -> None:
        self._events: Events = parts.events(FakeApi())
        self.workload_events = WorkloadEvents(self._events)

    def take(self) -> list[tuple[str, str, str, str]]:
        """Return kind, name, reason and note of each."""
        found = []
        while len(self._events._queue):
            event = self._events.take().body()
            about = event["regarding"]
            found.append((about["kind"], about["name"], event["reason"], event["note"]))
        return found


async def test_a_start_says_the_queue_and_the_flavors() -> None:
    told = Told()
    told.workload_events.admitted(Admission(JOB, "team-a", (("cpu", "spot"), ("gpu", "firm"))))

    note = "Admitted by queue team-a: cpu in spot, gpu in firm; its pods may be created"
    assert [("PyTorchJob", "train", "Admitted", note)] == told.take()


@pytest.mark.parametrize("why", [ApiAnswer("422: no"), PatchForbidden("jobs.batch")])
async def test_a_failure_that_a_user_can_mend_is_reported(why: Cause) -> None:
    told = Told()
    told.workload_events.not_admitted(Admission(JOB), why)

    ((_, _, reason, note),) = told.take()
    assert "AdmissionFailed" == reason
    assert note


@pytest.mark.parametrize("why", [NotLeading(), WorkloadChanged(), WorkloadGone()])
async def test_what_passes_by_itself_is_not_reported(why: Cause) -> None:
    told = Told()
    told.workload_events.not_admitted(Admission(JOB), why)

    assert [] == told.take()


@pytest.mark.parametrize("why", SuspendedFor)
async def test_a_suspension_says_why(why: SuspendedFor) -> None:
    told = Told()
    told.workload_events.suspended(Suspension(JOB, why))

    ((_, _, reason, note),) = told.take()
    assert "Suspended" == reason
    assert note.startswith("Suspended: ")
