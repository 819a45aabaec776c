"""Gangs that were evicted without need."""

import pytest

from support.audit_streams import Manifest, Stream, bound, deleted, node, pod
from support.audit_victims import marked, nominated, queue


@pytest.fixture
def stream() -> Stream:
    stream = Stream("spared")
    stream.see(node("n1", cpu=4), node("n2", cpu=4))
    stream.wait(60)
    return stream


def evict(stream: Stream, preemptor: Manifest, to: str, *victims: Manifest) -> list[str]:
    stream.see(*victims, preemptor)
    stream.wait(60)
    return evict_now(stream, preemptor, to, *victims)


def evict_now(stream: Stream, preemptor: Manifest, to: str, *victims: Manifest) -> list[str]:
    name = preemptor["metadata"]["name"]
    stream.see(nominated(preemptor, to))
    stream.see(*(marked(each, "big", name) for each in victims))
    stream.see(*(deleted(marked(each, "big", name)) for each in victims))
    stream.gone(*victims)
    stream.see(bound(preemptor, to))
    stream.end()
    return [each.about for each in stream.found]


def test_victims_that_were_in_the_way_are_right(stream: Stream) -> None:
    low = [bound(pod(f"low-{number}", cpu=2), "n1") for number in range(2)]

    assert [] == evict(stream, pod("big", cpu=4), "n1", *low)


def test_one_victim_too_many_is_found(stream: Stream) -> None:
    low = [bound(pod(f"low-{number}", cpu=2), "n1") for number in range(2)]

    assert ["Gang lab/low-0", "Gang lab/low-1"] == evict(stream, pod("big", cpu=2), "n1", *low)


def test_a_victim_on_another_node_is_found(stream: Stream) -> None:
    near, far = bound(pod("near", cpu=4), "n1"), bound(pod("far", cpu=4), "n2")

    assert ["Gang lab/far"] == evict(stream, pod("big", cpu=4), "n1", near, far)
    words = "evicted for lab/big, though there was room beside it: lab/far"
    assert words == stream.found[0].message


def test_a_gang_goes_whole(stream: Stream) -> None:
    ring = [bound(pod(f"ring-{i}", cpu=4, gang="ring"), f"n{i + 1}") for i in range(2)]

    assert [] == evict(stream, pod("big", cpu=4), "n1", *ring)


def test_room_that_was_freed_at_the_same_time_could_not_be_known(stream: Stream) -> None:
    other, low = bound(pod("other", cpu=2), "n1"), bound(pod("low", cpu=2), "n1")
    big = pod("big", cpu=2)
    stream.see(other, low, big)
    stream.wait(60)
    stream.gone(other)
    stream.see(nominated(big, "n1"), marked(low, "big", "big"), deleted(marked(low, "big", "big")))

    assert [] == stream.end()


def test_room_that_was_free_long_before_was_known(stream: Stream) -> None:
    other, low = bound(pod("other", cpu=2), "n1"), bound(pod("low", cpu=2), "n1")
    stream.see(other)
    stream.gone(other)

    assert ["Gang lab/low"] == evict(stream, pod("big", cpu=2), "n1", low)


def test_where_more_than_resources_decides_nothing_is_said(stream: Stream) -> None:
    low = bound(pod("low", cpu=1, host_ports=(80,)), "n1")

    assert [] == evict(stream, pod("big", cpu=1, host_ports=(80,)), "n1", low)


def test_where_there_are_queues_quota_may_be_the_cause(stream: Stream) -> None:
    stream.see(queue("a"))

    assert [] == evict(stream, pod("big", cpu=1), "n1", bound(pod("low", cpu=1), "n1"))


def test_where_there_were_queues_a_moment_ago_quota_may_have_been_the_cause(stream: Stream) -> None:
    low, big = bound(pod("low", cpu=1), "n1"), pod("big", cpu=1)
    stream.see(low, big, queue("a"))
    stream.gone(queue("a"))

    assert [] == evict_now(stream, big, "n1", low)


@pytest.mark.parametrize("change", ["comes", "grows"])
def test_room_of_a_node_that_came_later_could_not_be_known(stream: Stream, change: str) -> None:
    low, big = bound(pod("low", cpu=4), "n1"), pod("big", cpu=4)
    stream.see(low, big, *([node("n3", cpu=1)] if change == "grows" else []))
    stream.wait(60)
    stream.see(nominated(big, "n1"), marked(low, "big", "big"), deleted(marked(low, "big", "big")))
    stream.see(node("n3", cpu=4))
    stream.see(bound(big, "n3"))

    assert [] == stream.end()


def test_a_preemptor_that_goes_elsewhere_is_found_where_the_node_was_there(stream: Stream) -> None:
    low, big = bound(pod("low", cpu=4), "n1"), pod("big", cpu=4)
    stream.see(low, big)
    stream.wait(60)
    stream.see(nominated(big, "n1"), marked(low, "big", "big"), deleted(marked(low, "big", "big")))
    stream.see(bound(big, "n2"))
    stream.end()

    assert ["Gang lab/low"] == [each.about for each in stream.found]


def test_a_quorum_of_members_that_came_later_could_not_be_known(stream: Stream) -> None:
    low, first = bound(pod("low", cpu=4), "n1"), pod("big-0", cpu=4, gang="big")
    stream.see(low, first)
    stream.wait(60)
    stream.see(marked(low, "big", "big-0"), deleted(marked(low, "big", "big-0")))
    stream.see(bound(pod("big-1", cpu=1, gang="big"), "n2"))

    assert [] == stream.end()


def test_room_of_a_member_that_is_gone_was_needed(stream: Stream) -> None:
    low = bound(pod("low", cpu=4), "n1")
    ring = [pod(f"big-{number}", cpu=2, gang="big") for number in range(2)]
    stream.see(low, *ring)
    stream.wait(60)
    stream.see(*(nominated(each, "n1") for each in ring))
    stream.see(marked(low, "big", "big-0"), deleted(marked(low, "big", "big-0")))
    stream.gone(low, ring[1])
    stream.see(bound(ring[0], "n2"))

    assert [] == stream.end()


def test_room_elsewhere_that_was_freed_later_could_not_be_known(stream: Stream) -> None:
    low, far = bound(pod("low", cpu=4), "n1"), bound(pod("far", cpu=4), "n2")
    big = pod("big", cpu=4)
    stream.see(low, far, big)
    stream.wait(60)
    stream.see(nominated(big, "n1"), marked(low, "big", "big"), deleted(marked(low, "big", "big")))
    stream.gone(far, low)
    stream.see(bound(big, "n2"))

    assert [] == stream.end()


def test_room_that_a_later_preemption_left_over_could_not_be_known(stream: Stream) -> None:
    first, second = bound(pod("first", cpu=1), "n1"), bound(pod("second", cpu=3), "n1")
    one, two = pod("one", cpu=1), pod("two", cpu=2)
    stream.see(first, second, one, two)
    stream.wait(60)
    for preemptor, victim in ((one, first), (two, second)):
        name = preemptor["metadata"]["name"]
        stream.see(nominated(preemptor, "n1"), marked(victim, name, name))
        stream.see(deleted(marked(victim, name, name)))
    stream.gone(first, second)
    stream.see(bound(one, "n1"), bound(two, "n1"))

    assert [] == stream.end()
