"""What Kueue manages is not started: it decides, also on workloads that name none of its queues."""

import pytest

from gang_scheduler.api.kinds import KUEUE_WORKLOADS
from gang_scheduler.apply.outcomes import AdmissionWritten
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.causes.queues import KueueManages
from gang_scheduler.model.suspended import Admission
from integration.support.admissions import admissions

pytestmark = pytest.mark.looptime

FORBIDDEN = ApiError(403, "workloads.kueue.x-k8s.io is forbidden")


async def test_a_job_stays_suspended_for_which_kueue_has_a_workload() -> None:
    async with admissions(kueue_runs=True) as server:
        job = server.job()
        server.kueue_workload(job)
        before = server.now()

        assert KueueManages("job-train-1a2b3") == await server.why_not(Admission(job))

        assert before == server.now()
        assert "patch" not in server.requests()


async def test_a_job_without_one_is_started_beside_kueue() -> None:
    async with admissions(kueue_runs=True) as server:
        job, other = server.job(), server.job("other")
        server.kueue_workload(other)
        admission = Admission(job)

        assert [AdmissionWritten(admission)] == await server.admit(admission)


async def test_once_kueue_lets_go_of_it_a_job_is_started() -> None:
    async with admissions(kueue_runs=True) as server:
        admission = Admission(job := server.job())
        server.kueue_workload(job)
        await server.why_not(admission)

        server.cluster.delete(KUEUE_WORKLOADS[1], "ns", "job-train-1a2b3")

        assert [AdmissionWritten(admission)] == await server.admit(admission)


@pytest.mark.parametrize("runs", [True, False])
async def test_where_kueue_does_not_run_it_has_no_say(*, runs: bool) -> None:
    async with admissions(kueue_runs=runs, kueue=() if runs else KUEUE_WORKLOADS[1:]) as server:
        admission = Admission(job := server.job())
        if not runs:
            server.kueue_workload(job)

        assert [AdmissionWritten(admission)] == await server.admit(admission)
        assert ("names" in server.requests()) == runs


async def test_what_may_not_be_asked_stays_suspended_and_is_reported() -> None:
    async with admissions(kueue_runs=True, kueue=KUEUE_WORKLOADS) as server:
        server.api.scripts.append(lambda it: Fault(FORBIDDEN) if it.method == "names" else None)

        assert ApiAnswer(str(FORBIDDEN)) == await server.why_not(Admission(server.job()))
        assert server.is_suspended()


async def test_no_answer_of_kueues_kind_is_waited_for() -> None:
    async with admissions(kueue_runs=True) as server:
        server.api.fail("names", Fault(ApiError(503, "busy")))
        admission = Admission(server.job())

        assert [AdmissionWritten(admission)] == await server.admit(admission)
