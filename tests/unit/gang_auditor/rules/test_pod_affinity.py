"""Pods that must not be near each other, or are not near what they need."""

from typing import Any

import pytest

from support.audit_streams import Stream, bound, node, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def term(app: str, key: str = "zone") -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def away_from(app: str) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [term(app)]}}


def near(app: str) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [term(app)]}}


def of(app: str, name: str = "", **fields: Any) -> dict[str, Any]:
    return pod(name or app, labels={"app": app}, **fields)


@pytest.fixture
def stream() -> Stream:
    stream = Stream("pod_affinity")
    stream.see(*(node(f"{zone}{i}", labels={"zone": zone}) for zone in "ab" for i in range(2)))
    stream.wait(60)
    return stream


def messages(stream: Stream) -> list[str]:
    stream.end()
    return [each.message for each in stream.found]


def test_anti_affinity_keeps_both_directions(stream: Stream) -> None:
    stream.see(bound(of("web"), "a0"))
    stream.see(bound(of("db", affinity=away_from("web")), "a1"))
    stream.see(bound(of("web", "web-2"), "a1"))

    assert [
        "bound to a1, near lab/web, which its anti-affinity forbids",
        "bound to a1, near lab/db, whose anti-affinity forbids it",
    ] == messages(stream)


def test_another_domain_or_namespace_is_right(stream: Stream) -> None:
    stream.see(bound(of("db", affinity=away_from("web")), "a0"))
    stream.see(bound(of("web"), "b0"))
    stream.see(bound(of("web", namespace="other"), "a1"))

    assert [] == messages(stream)


def test_affinity_wants_the_pod_in_the_domain(stream: Stream) -> None:
    stream.see(bound(of("web"), "a0"), bound(of("near", affinity=near("web")), "a1"))
    stream.see(bound(of("far", affinity=near("web")), "b1"))

    words = "bound to b1, without the pods that its affinity for zone asks for"
    assert [words] == messages(stream)


def test_members_that_need_each_other_are_bound_in_any_order(stream: Stream) -> None:
    stream.see(bound(of("worker", affinity=near("master")), "a0"), bound(of("master"), "a1"))

    assert [] == messages(stream)


def test_the_first_of_its_kind_needs_no_other(stream: Stream) -> None:
    stream.see(bound(of("web", affinity=near("web")), "a0"))
    stream.see(bound(of("web", "web-2", affinity=near("web")), "a1"))
    stream.wait(30)
    assert [] == messages(stream)

    stream.see(bound(of("web", "web-3", affinity=near("web")), "b0"))
    assert 1 == len(messages(stream))


def spread(app: str, name: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    constraint = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": selector}
    constraints = [{**constraint, "whenUnsatisfiable": "DoNotSchedule"}]
    return of(app, name, topologySpreadConstraints=constraints)


def test_members_that_are_spread_evenly_are_right(stream: Stream) -> None:
    for number, name in enumerate(("a0", "a1", "b0", "b1")):
        stream.see(bound(spread("web", f"web-{number}"), name))

    assert [] == messages(stream)


def test_an_uneven_spread_is_found(stream: Stream) -> None:
    for number, name in enumerate(("a0", "a1", "a0")):
        stream.see(bound(spread("web", f"web-{number}"), name))
        stream.wait(10)

    words = "2 more than elsewhere of zone, where 1 may be"
    assert f"bound to a1, {words}" == messages(stream)[0]


def test_a_domain_that_has_just_come_is_not_held_against_a_pod(stream: Stream) -> None:
    stream.see(bound(spread("web", "web-0"), "a0"), bound(spread("web", "web-1"), "b0"))
    stream.wait(30)
    stream.see(bound(spread("web", "web-2"), "a1"), node("c0", labels={"zone": "c"}))

    assert [] == messages(stream)
