"""What a Job says of its gang beside its pod template."""

import pytest

from gang_scheduler.workloads import jobs
from support.in_memory_cluster import Body, job_body

KEY = "py-gang-scheduler.io/force-delete-stuck-pods"


@pytest.mark.parametrize(
    ("status", "quorum"),
    [
        ({}, 4),
        ({"succeeded": 1}, 3),
        ({"succeeded": 1, "failedIndexes": "2"}, 2),
        ({"failedIndexes": "0-1,3"}, 1),
        ({"failedIndexes": "x,12345678901,3-1,,2"}, 3),
    ],
)
def test_a_job_needs_no_pod_for_indexes_that_have_ended(
    status: dict[str, object], quorum: int
) -> None:
    body = {**job_body(parallelism=4, completions=4), "status": status}

    (found,) = jobs.read(body).gang_specs

    assert (quorum, False) == (found.min_member, found.finished)


def test_a_job_has_ended_with_the_last_of_its_indexes() -> None:
    status = {"succeeded": 1, "failedIndexes": "0-1,3"}

    (found,) = jobs.read({**job_body(parallelism=4, completions=4), "status": status}).gang_specs

    assert found.finished


def saying(text: str) -> Body:
    body = job_body(parallelism=2, completions=2)
    return {**body, "metadata": {**body["metadata"], "annotations": {KEY: text}}}


@pytest.mark.parametrize(("text", "seconds"), [("10m", 600), ("soon", None)])
def test_a_job_can_let_its_stuck_pods_be_removed(text: str, seconds: int | None) -> None:
    (found,) = jobs.read(saying(text)).gang_specs

    assert (seconds, seconds is None) == (
        found.options.force_delete_seconds,
        found.problem is not None,
    )


def test_a_job_that_says_nothing_lets_none_be_removed() -> None:
    (found,) = jobs.read(job_body(parallelism=2, completions=2)).gang_specs

    assert found.options.force_delete_seconds is None
    assert found.problem is None
