"""Gangs that are bound in part."""

from typing import Any

import pytest

from gang_scheduler.api import annotations as keys
from support.audit_streams import NAMESPACE, Stream, bound, deleted, ended, node, pod, pod_group


@pytest.fixture
def stream() -> Stream:
    stream = Stream("quorum")
    stream.see(node("n1"), pod_group("ring", 3))
    return stream


def members(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [pod(f"ring-{number}", **{"gang": "ring", **fields}) for number in range(count)]


def test_a_gang_that_is_bound_whole_is_right(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring)
    for each in ring:
        stream.see(bound(each, "n1"))
        stream.wait(2)
    stream.wait(600)

    assert [] == stream.end()


def test_a_gang_that_stays_in_part_is_found_once(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring, bound(ring[0], "n1"), bound(ring[1], "n1"))
    stream.wait(60)
    assert [] == stream.told
    stream.wait(60)
    stream.wait(60)

    assert [("quorum", f"Gang {NAMESPACE}/ring")] == stream.end()
    assert "2 of 3 members bound for 120 s" == stream.found[0].message


def test_a_gang_that_was_whole_may_lose_members(stream: Stream) -> None:
    ring = [bound(each, "n1") for each in members(3)]
    stream.see(*ring)
    stream.gone(ring[0])
    stream.wait(600)

    assert [] == stream.end()


def test_members_that_ended_count_for_the_gang_that_they_began(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring, bound(ring[0], "n1"), bound(ring[1], "n1"))
    stream.see(ended(bound(ring[0], "n1")))
    stream.see(bound(ring[2], "n1"))
    stream.wait(600)

    assert [] == stream.end()


def test_a_second_attempt_is_judged_like_the_first(stream: Stream) -> None:
    first = [bound(each, "n1") for each in members(3)]
    stream.see(*first)
    stream.gone(*first)
    again = members(3)
    stream.see(*again, bound(again[0], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/ring")] == stream.end()


def test_a_member_that_was_deleted_meanwhile_is_not_waited_for(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring, bound(ring[0], "n1"), bound(ring[1], "n1"))
    stream.gone(deleted(ring[2]))
    stream.wait(600)

    assert [] == stream.end()


def test_a_gang_without_a_quorum_of_members_must_not_begin(stream: Stream) -> None:
    ring = members(3)
    stream.see(*ring)
    stream.gone(ring[2])
    stream.wait(30)
    stream.see(bound(ring[0], "n1"), bound(ring[1], "n1"))

    assert [("quorum", f"Gang {NAMESPACE}/ring")] == stream.end()
    assert "bound with 2 members, where 3 must be bound together" == stream.found[0].message


def test_what_was_bound_before_the_auditor_began_is_not_judged(stream: Stream) -> None:
    ring = members(3)
    stream.listed(ring[0], bound(ring[0], "n1"), ring[1])
    stream.see(bound(ring[1], "n1"))
    stream.wait(600)

    assert [] == stream.end()


def test_a_quorum_that_was_raised_meanwhile_is_that_of_before(stream: Stream) -> None:
    ring = [bound(each, "n1") for each in members(3)]
    stream.see(*ring)
    stream.see(pod_group("ring", 5))
    stream.wait(200)

    assert [] == stream.end()


def test_gangs_of_annotations_have_a_quorum(stream: Stream) -> None:
    marks = {keys.GANG_NAME: "band", keys.GANG_MIN_AVAILABLE: "2"}
    band = [pod(f"band-{number}", annotations=marks) for number in range(2)]
    stream.see(*band, bound(band[0], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/band")] == stream.end()


def test_gangs_of_jobs_have_a_quorum(stream: Stream) -> None:
    owner = {"kind": "Job", "name": "train", "controller": True}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": NAMESPACE, "uid": "job"},
        "spec": {"parallelism": 2, "completions": 2},
    }
    pods = [pod(f"train-{number}", labels={keys.JOB_GANG_LABEL: "true"}) for number in range(2)]
    for each in pods:
        each["metadata"]["ownerReferences"] = [owner]
    stream.see(job, *pods, bound(pods[0], "n1"))
    stream.wait(120)

    assert [("quorum", f"Gang {NAMESPACE}/train")] == stream.end()


def test_pods_of_another_scheduler_are_no_members(stream: Stream) -> None:
    stream.see(bound(members(1, schedulerName="default-scheduler")[0], "n1", plan=None))
    stream.wait(600)

    assert [] == stream.end()
