"""Nominations and marks that nothing follows from."""

import pytest

from support.audit_streams import Stream, bound, changed, deleted, node, pod
from support.audit_victims import marked, nominated


@pytest.fixture
def stream() -> Stream:
    stream = Stream("leftovers")
    stream.see(node("n1"))
    return stream


def test_a_nomination_that_stays_is_found_once(stream: Stream) -> None:
    stream.see(nominated(pod("big"), "n1"))
    stream.wait(120)
    assert [] == stream.told
    for _ in range(3):
        stream.wait(60)

    assert [("leftovers", "Pod lab/big")] == stream.end()
    assert "nominated to n1 for 180 s for nothing" == stream.found[0].message


def test_a_nomination_waits_for_pods_that_go(stream: Stream) -> None:
    victim = bound(pod("low"), "n1")
    stream.see(victim, nominated(pod("big"), "n1"), deleted(victim))
    stream.wait(600)
    assert [] == stream.told

    stream.gone(victim)
    stream.wait(100)
    assert [] == stream.end()


def test_members_wait_for_the_victims_of_others(stream: Stream) -> None:
    victim = bound(pod("low"), "n2")
    stream.see(deleted(victim))
    stream.see(nominated(pod("big-0", gang="big"), "n1"), nominated(pod("big-1", gang="big"), "n2"))
    stream.wait(600)

    assert [] == stream.end()


def test_a_nomination_that_is_cleared_or_kept_is_right(stream: Stream) -> None:
    first, second = pod("first"), pod("second")
    stream.see(nominated(first, "n1"), nominated(second, "n1"))
    stream.wait(60)
    stream.see(first, bound(nominated(second, "n1"), "n1"))
    stream.wait(600)

    assert [] == stream.end()


def test_another_nomination_begins_anew(stream: Stream) -> None:
    member = pod("big")
    for name in ("n1", "n2", "n3"):
        stream.see(nominated(member, name))
        stream.wait(100)

    assert [] == stream.end()


def test_a_pod_that_waits_for_its_claims_keeps_its_nomination(stream: Stream) -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    stream.see(nominated(pod("big", volumes=volumes), "n1"))
    stream.wait(600)

    assert [] == stream.end()


def test_a_mark_without_a_deletion_is_found(stream: Stream) -> None:
    victim = bound(pod("low"), "n1")
    stream.see(marked(victim, "big", "big"))
    stream.wait(180)
    stream.wait(60)

    assert [("leftovers", "Pod lab/low")] == stream.end()
    assert "marked as a victim for 180 s, and not deleted" == stream.found[0].message


def test_a_mark_that_is_followed_or_withdrawn_is_right(stream: Stream) -> None:
    first, second = bound(pod("a"), "n1"), bound(pod("b"), "n1")
    stream.see(marked(first, "big", "big"), marked(second, "big", "big"))
    stream.see(deleted(marked(first, "big", "big")))
    stream.see(changed(second, status={"conditions": []}))
    stream.wait(600)

    assert [] == stream.end()
