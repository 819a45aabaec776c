"""Queues over their limits, and guarantees that are lent."""

import json
from typing import Any

import pytest

from gang_scheduler.api import annotations as keys
from support.audit_streams import Stream, bound, deleted, node, pod
from support.audit_victims import queue, queued, quota


@pytest.fixture
def stream() -> Stream:
    stream = Stream("limit", "guarantee")
    stream.see(node("n1", cpu=10))
    return stream


def test_what_is_promised_is_used(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4)), queued("x", "a", cpu=4))

    assert [] == stream.end()


def test_more_than_hard_is_found(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4, hard=5), borrowing={"enabled": True}))
    stream.see(queued("x", "a", cpu=5), queued("y", "a", cpu=1))

    assert [("limit", "Queue a")] == stream.end()
    words = "lab/y was bound, with which a has 6 cpu: more than it may use"
    assert words == stream.found[0].message


def test_a_limit_above_counts_for_all_below(stream: Stream) -> None:
    stream.see(queue("top", quota=quota(4, hard=4)))
    borrowing = {"borrowing": {"enabled": True}, "parent": "top"}
    stream.see(queue("a", quota=quota(2), **borrowing), queue("b", quota=quota(2), **borrowing))
    stream.see(queued("x", "a", cpu=3), queued("y", "b", cpu=2))

    assert ("limit", "Queue b") in stream.end()
    assert "top" == stream.found[0].details["of"]


@pytest.mark.parametrize(
    ("borrowing", "used", "is_right"),
    [
        ({}, 4, True),
        ({}, 5, False),
        ({"enabled": False, "maxBorrowRatio": 1.0}, 5, False),
        ({"enabled": True}, 10, True),
        ({"enabled": True, "maxBorrowRatio": 0.5}, 6, True),
        ({"enabled": True, "maxBorrowRatio": 0.5}, 7, False),
    ],
)
def test_a_queue_borrows_as_far_as_it_may(
    stream: Stream, borrowing: dict[str, Any], used: int, *, is_right: bool
) -> None:
    stream.see(queue("a", quota=quota(4), borrowing=borrowing), queued("x", "a", cpu=used))

    assert is_right == ([] == stream.end())


def test_what_is_idle_is_lent(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(5)), queue("b", quota=quota(5), borrowing={"enabled": True}))
    stream.see(queued("x", "b", cpu=10))

    assert [] == stream.end()


def test_a_guarantee_that_is_lent_is_found(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(5, guaranteed=3)))
    stream.see(queue("b", quota=quota(5), borrowing={"enabled": True}))
    stream.see(queued("x", "b", cpu=7))
    assert [] == stream.end()

    stream.see(queued("y", "b", cpu=1))
    assert [("guarantee", "Queue b")] == stream.end()
    assert {"used": 8000, "resource": "cpu"}.items() <= stream.found[0].details.items()


def test_a_pod_without_a_queue_gets_no_guarantee_either(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(6, guaranteed=6)), bound(pod("x", cpu=5), "n1"))

    assert [("guarantee", "Queue none")] == stream.end()


def test_a_guarantee_is_used_by_its_own_queue(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(6, guaranteed=6)), bound(pod("x", cpu=4), "n1"))
    stream.see(queued("y", "a", cpu=6))

    assert [] == stream.end()


def test_a_pod_that_is_being_deleted_counts_no_more(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4, hard=4)))
    first = queued("x", "a", cpu=4)
    stream.see(first, deleted(first), queued("y", "a", cpu=4))

    assert [] == stream.end()


def test_a_quota_that_is_cut_afterwards_is_no_fault_of_the_scheduler(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(4, hard=4)), queued("x", "a", cpu=4))
    stream.see(queue("a", quota=quota(1, hard=1)))
    assert [] == stream.end()

    stream.wait(30)
    stream.see(queued("y", "a", cpu=1))
    assert ("limit", "Queue a") in stream.end()


def test_a_quota_that_is_raised_a_moment_later_was_raised(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(1)), queued("x", "a", cpu=4), queue("a", quota=quota(4)))

    assert [] == stream.end()


def test_without_queues_there_is_no_quota(stream: Stream) -> None:
    stream.see(bound(pod("x", cpu=10), "n1"), bound(pod("y", cpu=10), "n1"))

    assert [] == stream.end()


def test_flavors_have_quotas_of_their_own(stream: Stream) -> None:
    of_flavors = [{"name": name, "quota": quota(2, hard=2)} for name in ("spot", "fast")]
    stream.see(queue("a", flavors=of_flavors))
    for name, flavor in (("x", "spot"), ("y", "fast"), ("z", "fast")):
        flavors = {keys.FLAVORS: json.dumps({"cpu": flavor}), keys.QUEUE: "a"}
        stream.see(bound(pod(name, cpu=2), "n1", **flavors))

    assert ("limit", "Queue a") in stream.end()
    assert {"fast"} == {each.details["flavor"] for each in stream.found}


def test_gpu_stands_for_all_gpus(stream: Stream) -> None:
    gpus = {"soft": {"gpu": 2}, "hard": {"gpu": 2}}
    stream.see(node("n2", devices={"nvidia.com/gpu": "8", "amd.com/gpu": "8"}))
    stream.see(queue("a", quota=gpus))
    for number, resource in enumerate(("nvidia.com/gpu", "amd.com/gpu", "amd.com/gpu")):
        container = {"name": "main", "resources": {"requests": {resource: "1"}}}
        made = pod(f"p{number}", containers=[container])
        stream.see(bound(made, "n2", **{keys.QUEUE: "a"}))

    assert ("limit", "Queue a") in stream.end()
    assert "lab/p2" in stream.found[0].message


def test_queues_of_other_products_are_not_judged(stream: Stream) -> None:
    stream.see(queue("a", quota=quota(1)))
    stream.see(bound(pod("x", cpu=10), "n1", **{keys.QUEUE: "ClusterQueue/team"}))

    assert [] == stream.end()


def test_a_queue_that_was_just_deleted_may_count_still(stream: Stream) -> None:
    lends = queue("b", quota=quota(4))
    stream.see(queue("root", quota=quota(8)), lends)
    stream.see(queue("a", quota=quota(4), borrowing={"enabled": True}))
    stream.gone(lends)
    stream.see(queue("root", quota=quota(4)))
    stream.wait(10)
    stream.see(queued("x", "a", cpu=5))
    assert [] == stream.end()

    stream.wait(20)
    stream.see(queued("y", "a", cpu=1))
    assert [("guarantee", "Queue a")] == stream.end()
