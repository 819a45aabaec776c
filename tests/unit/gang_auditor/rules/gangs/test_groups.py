"""Gangs of a group that do not start together."""

import json
from typing import Any

import pytest

from gang_scheduler.api import annotations as keys
from support.audit_streams import NAMESPACE, Stream, bound, node, pod, pod_group

FOUND = [("groups", f"Gang {NAMESPACE}/a")]


@pytest.fixture
def stream() -> Stream:
    stream = Stream("groups")
    stream.see(node("n1"), pod_group("a", 2, **{keys.GANG_GROUPS: names("b")}), pod_group("b", 2))
    return stream


def names(*gangs: str, namespace: str = NAMESPACE) -> str:
    return json.dumps([f"{namespace}/{each}" for each in gangs])


def members(gang: str, count: int = 2) -> list[dict[str, Any]]:
    return [pod(f"{gang}-{number}", gang=gang) for number in range(count)]


def start(stream: Stream, *pods: dict[str, Any]) -> None:
    stream.see(*(bound(each, "n1") for each in pods))


def test_gangs_that_start_together_are_right(stream: Stream) -> None:
    a, b = members("a"), members("b")
    stream.see(*a, *b)
    start(stream, *a)
    stream.wait(30)
    start(stream, *b)
    stream.wait(600)

    assert [] == stream.end()


def test_a_gang_that_starts_alone_is_found_once(stream: Stream) -> None:
    a = members("a")
    stream.see(*a, *members("b"))
    start(stream, *a)
    stream.wait(60)
    assert [] == stream.told
    stream.wait(60)
    stream.wait(60)

    assert FOUND == stream.end()
    assert f"started without {NAMESPACE}/b of its group for 120 s" == stream.found[0].message


def test_it_does_not_matter_which_one_names_the_other_and_through_which(stream: Stream) -> None:
    stream.see(pod_group("c", 2, **{keys.GANG_GROUPS: names("b")}))
    c, b = members("c"), members("b")
    stream.see(*c, *b, *members("a"))
    start(stream, *c, *b)
    stream.wait(120)

    assert [("groups", f"Gang {NAMESPACE}/{name}") for name in "cb"] == stream.end()


def test_one_that_started_before_is_not_waited_for(stream: Stream) -> None:
    a, b = members("a"), members("b")
    stream.see(*a, *b)
    start(stream, *a, *b)
    stream.gone(*b)
    stream.see(*members("b"))
    stream.gone(*a)
    again = members("a")
    stream.see(*again)
    start(stream, *again)
    stream.wait(600)

    assert [] == stream.end()


def test_one_that_lacks_members_by_now_or_is_gone_is_not_waited_for(stream: Stream) -> None:
    a, b = members("a"), members("b")
    stream.see(*a, *b)
    start(stream, *a)
    stream.gone(b[0])
    stream.wait(600)

    assert [] == stream.end()


@pytest.mark.parametrize("strict", ["a", "b"])
def test_gangs_of_mode_non_strict_are_not_judged(stream: Stream, strict: str) -> None:
    for name in "ab":
        mode = {} if name == strict else {keys.GANG_MODE: "NonStrict"}
        stream.see(pod_group(name, 2, **{keys.GANG_GROUPS: names("a", "b"), **mode}))
    a = members("a")
    stream.see(*a, *members("b"))
    start(stream, *a)
    stream.wait(600)

    assert [] == stream.end()


def test_gangs_of_another_namespace_are_not_judged(stream: Stream) -> None:
    stream.see(pod_group("a", 2, **{keys.GANG_GROUPS: names("b", namespace="other")}))
    a = members("a")
    stream.see(*a, *members("b"))
    start(stream, *a)
    stream.wait(600)

    assert [] == stream.end()


def test_a_gang_that_another_hand_has_begun_is_not_judged(stream: Stream) -> None:
    a = members("a")
    stream.see(*a, *members("b"))
    stream.see(bound(a[0], "n1", plan=None), bound(a[1], "n1"))
    stream.wait(600)

    assert [] == stream.end()
