"""Workloads that were admitted are suspended again; those of others are left alone."""

import pytest

from gang_scheduler.api.annotations import ADMITTED_AT
from gang_scheduler.api.kinds import JOBS
from gang_scheduler.apply.outcomes import WorkloadSuspended
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.client.writing import GIVE_UP_SECONDS
from gang_scheduler.model.suspended import ManagedWorkload, SuspendedFor, Suspension
from integration.support.admissions import Admissions, admissions

pytestmark = pytest.mark.looptime

LOST_ANSWER = ApiError(0, "the connection broke")


async def suspended(server: Admissions, job: ManagedWorkload) -> bool:
    """Have a workload suspended, and return whether that was told."""
    suspension = Suspension(job, SuspendedFor.PODS_MISSING)
    server.suspender.submit(suspension)
    await server.suspender.drain()
    return [WorkloadSuspended(suspension)] == list(server.outcomes.take_all())


async def test_a_job_that_was_admitted_is_suspended_and_waits_again() -> None:
    async with admissions() as server:
        assert await suspended(server, server.job(admitted=True))

        assert server.is_suspended()
        assert ADMITTED_AT not in server.now()["metadata"]["annotations"]


async def test_the_newest_version_is_suspended() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)
        with server.cluster.changing(JOBS, "ns", "train") as found:
            found["spec"]["parallelism"] = 9

        assert await suspended(server, job)
        assert (True, 9) == (server.is_suspended(), server.now()["spec"]["parallelism"])


async def test_a_change_in_between_is_met_by_reading_again() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)

        def change(call: Call) -> Fault | None:
            if call.method == "patch" and server.requests().count("patch") == 1:
                with server.cluster.changing(JOBS, "ns", "train") as found:
                    found["spec"]["parallelism"] = 9
            return None

        server.api.scripts.append(change)

        assert await suspended(server, job)
        assert (True, 9) == (server.is_suspended(), server.now()["spec"]["parallelism"])
        assert ["get", "patch", "get", "patch"] == server.requests()


async def test_one_that_a_user_has_suspended_keeps_saying_so() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)
        with server.cluster.changing(JOBS, "ns", "train") as found:
            found["spec"]["suspend"] = True
        before = server.now()

        await suspended(server, job)

        assert before == server.now()


async def test_one_that_was_never_admitted_runs_on() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)
        with server.cluster.changing(JOBS, "ns", "train") as found:
            del found["metadata"]["annotations"][ADMITTED_AT]

        await suspended(server, job)

        assert not server.is_suspended()


async def test_another_of_the_same_name_runs_on() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)
        server.cluster.delete(JOBS, "ns", "train")
        server.job(admitted=True)

        await suspended(server, job)

        assert not server.is_suspended()


async def test_one_that_is_gone_is_done() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)
        server.cluster.delete(JOBS, "ns", "train")

        assert await suspended(server, job)


@pytest.mark.parametrize("after", [False, True])
async def test_a_patch_without_an_answer_is_settled(*, after: bool) -> None:
    async with admissions() as server:
        server.api.fail("patch", Fault(LOST_ANSWER, after=after))

        assert await suspended(server, server.job(admitted=True))
        assert server.is_suspended()


async def test_without_rights_it_is_given_up_after_a_moment_in_which_they_may_come() -> None:
    async with admissions() as server:
        forbidden = Fault(ApiError(403, "forbidden"))
        server.api.scripts.append(lambda it: forbidden if it.method == "patch" else None)

        job = server.job(admitted=True)
        assert not await suspended(server, job)
        assert 2 <= server.requests().count("patch") <= 20

        server.api.scripts.clear()
        assert await suspended(server, job)


async def test_it_is_given_up_after_a_while_and_may_be_asked_for_again() -> None:
    async with admissions() as server:
        errors = [Fault(LOST_ANSWER, delay_seconds=GIVE_UP_SECONDS / 2)] * 3
        server.api.fail("get", *errors)
        job = server.job(admitted=True)

        assert not await suspended(server, job)
        server.api.scripts.clear()
        assert await suspended(server, job)


async def test_what_is_asked_for_twice_is_done_once() -> None:
    async with admissions() as server:
        job = server.job(admitted=True)
        server.suspender.submit(Suspension(job, SuspendedFor.PODS_MISSING))

        assert await suspended(server, job)
        assert ["get", "patch"] == server.requests()


async def test_a_replica_that_does_not_lead_writes_nothing() -> None:
    async with admissions(may_write=lambda: False) as server:
        assert not await suspended(server, server.job(admitted=True))
        assert [] == server.requests()
