"""A gang of which all Jobs have failed gets no members any more."""

import pytest

from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.workloads import FailedJobs
from support.builders import NAMESPACE, gang_key, pod

GANG = gang_key("a")
ALONE = GangKey("Pod", NAMESPACE, "x-0")


@pytest.fixture
def jobs() -> FailedJobs:
    """Return a gang with pods of Job 1."""
    found = FailedJobs()
    found.upsert_member(GANG, pod("x-0", job="1"))
    return found


def test_a_gang_of_a_failed_job_is_over(jobs: FailedJobs) -> None:
    assert not jobs.are_all(GANG)

    assert {GANG} == jobs.upsert("uid-1", GANG)
    assert jobs.are_all(GANG)


def test_what_is_known_already_concerns_no_gang(jobs: FailedJobs) -> None:
    assert set() == jobs.upsert("uid-1", None)
    jobs.upsert("uid-1", GANG)

    assert set() == jobs.upsert("uid-1", GANG)


def test_a_gang_with_another_job_goes_on(jobs: FailedJobs) -> None:
    jobs.upsert_member(GANG, pod("y-0", job="2"))
    jobs.upsert("uid-1", GANG)

    assert not jobs.are_all(GANG)
    jobs.upsert("uid-2", GANG)
    assert jobs.are_all(GANG)


def test_without_jobs_nothing_has_failed() -> None:
    assert not FailedJobs().are_all(GANG)


def test_a_job_that_failed_before_the_start_names_its_gang() -> None:
    jobs = FailedJobs()

    assert {GANG} == jobs.upsert("uid-1", GANG)
    assert jobs.are_all(GANG)


def test_a_failed_job_that_is_deleted_is_forgotten(jobs: FailedJobs) -> None:
    jobs.upsert("uid-1", GANG)

    assert {GANG} == jobs.delete("uid-1")
    assert not jobs.are_all(GANG)
    assert set() == jobs.delete("uid-1")


def test_pods_without_a_gang_are_not_kept(jobs: FailedJobs) -> None:
    jobs.upsert_member(ALONE, pod("x-0", job="3"))

    assert set() == jobs.delete("uid-3")
