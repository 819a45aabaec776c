"""What is measured while virtual time passes."""

import numpy as np
import pytest

from gang_scheduler.replay import measures
from gang_scheduler.replay.jobs import Job
from gang_scheduler.replay.measures import Buckets, Life


def test_averages_hold_for_as_long_as_their_values() -> None:
    found = Buckets(1)
    found.add(0, 30, np.array([4.0]))
    found.add(30, 150, np.array([1.0]))

    assert [2.5, 1.0, 1.0] == found.averages()[:, 0].tolist()


def test_the_parts_of_a_long_time_become_longer() -> None:
    found = Buckets(1)
    found.add(0, 600_000, np.array([2.0]))

    assert found.width == 960
    assert pytest.approx(2.0) == found.averages()[:, 0].mean()


def test_shares_are_equal_as_far_as_they_are_asked_for() -> None:
    assert [1.0, 4.5, 4.5] == measures.max_min(np.array([1.0, 9.0, 5.0]), 10).tolist()


def test_queues_with_their_fair_shares_are_fair() -> None:
    found = measures.fairness(np.array([5.0, 5.0]), np.array([9.0, 1.0]), 10)

    assert pytest.approx((0.0, 1.0)) == found


def test_a_queue_that_has_all_is_unfair() -> None:
    found = measures.fairness(np.array([10.0, 0.0]), np.array([0.0, 9.0]), 10)

    assert pytest.approx((0.5, 0.5)) == found


def test_gpus_that_no_waiting_gang_could_use_are_counted_separately() -> None:
    free = np.array([3, 3, 8])

    # Of pods of 4 GPUs two fit, on the last node.
    assert (14.0, 6.0) == measures.idle(free, [(4, 2)])
    assert (14.0, 14.0) == measures.idle(free, [(8, 2)])


def test_quantiles_are_values_that_were_there() -> None:
    found = measures.spread([1, 2, 3, 4, 100])

    assert (22.0, 3, 100, 100) == (found["mean"], found["p50"], found["p90"], found["max"])


def test_a_job_that_waits_has_waited_until_now() -> None:
    assert 90 == Life(Job("a", 10)).wait(100)


@pytest.mark.parametrize(
    ("gpus", "group"),
    [(0, "0"), (1, "1"), (8, "2-8"), (9, "9-64"), (99, "65+"), (2**63 - 1, "65+")],
)
def test_jobs_are_grouped_by_their_gpus(gpus: int, group: str) -> None:
    assert group == measures.size_of(Job("a", 0, gpu=gpus))
