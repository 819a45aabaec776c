"""Suspended workloads are started by one patch, or stay as they were."""

import pytest

from gang_scheduler.api.annotations import ADMITTED_AT, FLAVORS, QUEUE
from gang_scheduler.api.kinds import JOBS
from gang_scheduler.apply.outcomes import AdmissionWritten
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.writing import GIVE_UP_SECONDS
from gang_scheduler.model.causes.gangs import ApiAnswer, NotLeading
from gang_scheduler.model.causes.queues import (
    PatchForbidden,
    TemplateGone,
    WorkloadChanged,
    WorkloadGone,
)
from gang_scheduler.model.suspended import Admission, TemplateEdit
from integration.support.admissions import AT, SPOT, admissions

pytestmark = pytest.mark.looptime

LOST_ANSWER = ApiError(0, "the connection broke")
INVALID = ApiError(422, "spec.template: field is immutable")
FORBIDDEN = ApiError(403, "forbidden")


async def test_a_job_is_started_by_one_request() -> None:
    async with admissions() as server:
        admission = Admission(server.job(), "team-a", (("cpu", "spot"),))

        assert [AdmissionWritten(admission)] == await server.admit(admission)

        assert ["patch"] == server.requests()
        assert not server.is_suspended()
        notes = server.now()["metadata"]["annotations"]
        assert {ADMITTED_AT: AT, QUEUE: "team-a", FLAVORS: '{"cpu":"spot"}'} == notes


async def test_what_flavors_add_goes_with_the_same_patch() -> None:
    async with admissions() as server:
        admission = Admission(server.job(), edits=(SPOT,))

        assert [AdmissionWritten(admission)] == await server.admit(admission)

        assert ["get", "patch"] == server.requests()
        assert not server.is_suspended()
        assert {"pool": "spot"} == server.now()["spec"]["template"]["spec"]["nodeSelector"]


async def test_many_are_started_beside_each_other() -> None:
    async with admissions() as server:
        names = [f"job-{number}" for number in range(50)]
        jobs = [server.job(name) for name in names]

        outcomes = await server.admit(*map(Admission, jobs))

        assert {AdmissionWritten(Admission(each)) for each in jobs} == set(outcomes)
        assert not any(map(server.is_suspended, names))


@pytest.mark.parametrize("edits", [(), (SPOT,)])
async def test_a_job_that_was_changed_since_stays_suspended(
    edits: tuple[TemplateEdit, ...],
) -> None:
    async with admissions() as server:
        job = server.job()
        with server.cluster.changing(JOBS, "ns", "train") as found:
            found["spec"]["parallelism"] = 9

        assert WorkloadChanged() == await server.why_not(Admission(job, edits=edits))

        assert server.is_suspended()
        assert 9 == server.now()["spec"]["parallelism"]


@pytest.mark.parametrize("edits", [(), (SPOT,)])
async def test_a_job_that_is_gone_is_not_started(edits: tuple[TemplateEdit, ...]) -> None:
    async with admissions() as server:
        job = server.job()
        server.cluster.delete(JOBS, "ns", "train")

        assert WorkloadGone() == await server.why_not(Admission(job, edits=edits))


async def test_another_job_of_the_same_name_is_not_started() -> None:
    async with admissions() as server:
        job = server.job()
        server.cluster.delete(JOBS, "ns", "train")
        server.job()

        assert WorkloadGone() == await server.why_not(Admission(job))
        assert server.is_suspended()


@pytest.mark.parametrize("error", [LOST_ANSWER, ApiError(503, "busy"), ApiError(429, "slow down")])
async def test_a_patch_that_failed_is_sent_again(error: ApiError) -> None:
    async with admissions() as server:
        server.api.fail("patch", Fault(error), Fault(error))
        admission = Admission(server.job())

        assert [AdmissionWritten(admission)] == await server.admit(admission)
        assert 3 == server.requests().count("patch")


@pytest.mark.parametrize("edits", [(), (SPOT,)])
async def test_a_patch_that_came_through_unanswered_is_known_for_what_it_is(
    edits: tuple[TemplateEdit, ...],
) -> None:
    async with admissions() as server:
        server.api.fail("patch", Fault(LOST_ANSWER, after=True))
        admission = Admission(server.job(), edits=edits)

        assert [AdmissionWritten(admission)] == await server.admit(admission)

        assert not server.is_suspended()
        assert 2 == server.now()["metadata"]["generation"]


async def test_a_user_who_suspends_while_no_answer_comes_is_obeyed() -> None:
    async with admissions() as server:
        job = server.job()

        def suspend_by_hand(call: Call) -> Fault | None:
            if call.method == "patch" and server.requests().count("patch") == 2:
                with server.cluster.changing(JOBS, "ns", "train") as found:
                    found["spec"]["suspend"] = True
            return None

        server.api.fail("patch", Fault(LOST_ANSWER, after=True))
        server.api.scripts.append(suspend_by_hand)

        assert WorkloadChanged() == await server.why_not(Admission(job))
        assert server.is_suspended()


async def test_no_answer_for_long_gives_the_admission_up() -> None:
    async with admissions() as server:
        server.api.scripts.append(lambda _: Fault(LOST_ANSWER, delay_seconds=1))
        job = server.job()

        assert isinstance(await server.why_not(Admission(job)), ApiAnswer)
        assert GIVE_UP_SECONDS / 8 < server.requests().count("patch") < GIVE_UP_SECONDS


async def test_what_the_api_server_refuses_is_reported_in_its_words() -> None:
    async with admissions() as server:
        server.api.fail("patch", Fault(INVALID))

        assert ApiAnswer(str(INVALID)) == await server.why_not(Admission(server.job()))
        assert 1 == server.requests().count("patch")


async def test_a_denial_that_passes_is_waited_out() -> None:
    async with admissions() as server:
        server.api.fail("patch", Fault(FORBIDDEN), Fault(FORBIDDEN))
        admission = Admission(server.job())

        assert [AdmissionWritten(admission)] == await server.admit(admission)


async def test_missing_rights_are_reported_and_other_kinds_go_on() -> None:
    async with admissions() as server:
        server.api.scripts.append(
            lambda it: Fault(FORBIDDEN) if (it.method, it.name) == ("patch", "mine") else None
        )
        jobs = [server.job("mine"), server.job("other")]

        failed, written = sorted(await server.admit(*map(Admission, jobs)), key=str)

        assert getattr(failed, "why", None) == PatchForbidden("jobs.batch")
        assert AdmissionWritten(Admission(jobs[1])) == written


async def test_a_template_that_is_gone_is_named() -> None:
    async with admissions() as server:
        edit = TemplateEdit(("spec", "jobs", 1), (("pool", "spot"),))

        assert TemplateGone("spec.jobs.1") == await server.why_not(
            Admission(server.job(), edits=(edit,))
        )
        assert server.is_suspended()


async def test_a_job_that_has_run_forgets_it_where_its_template_is_fixed_else() -> None:
    async with admissions() as server:
        job = server.job(status={"startTime": AT})
        server.api.fail("patch", Fault(INVALID))
        admission = Admission(job, edits=(SPOT,))

        assert [AdmissionWritten(admission)] == await server.admit(admission)

        assert "startTime" not in server.now()["status"]
        assert {"pool": "spot"} == server.now()["spec"]["template"]["spec"]["nodeSelector"]


async def test_a_replica_that_does_not_lead_writes_nothing() -> None:
    async with admissions(may_write=lambda: False) as server:
        assert NotLeading() == await server.why_not(Admission(server.job()))
        assert [] == server.requests()


async def test_leadership_that_is_lost_between_two_attempts_ends_them() -> None:
    leads = True

    async with admissions(may_write=lambda: leads) as server:

        def lose(_: Call) -> Fault:
            nonlocal leads
            leads = False
            return Fault(LOST_ANSWER)

        server.api.scripts.append(lose)

        assert NotLeading() == await server.why_not(Admission(server.job()))
        assert 1 == len(server.api.calls)


async def test_versions_that_are_not_served_are_passed_over_once() -> None:
    async with admissions() as server:
        jobs = [server.mpi_job(name) for name in ("a", "b")]

        outcomes = [await server.admit(Admission(each)) for each in jobs]

        assert [[AdmissionWritten(Admission(each))] for each in jobs] == outcomes
        versions = [each.arguments["resource"].version for each in server.api.calls]
        assert ["v2beta1", "v1", "v1"] == versions
