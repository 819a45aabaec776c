"""Bindings that must not be, whatever there is room for."""

import pytest

from support.audit_streams import Stream, bound, changed, deleted, ended, pod


def test_a_pod_that_is_bound_and_then_deleted_is_right() -> None:
    stream, member = Stream("bindings"), pod("a")
    stream.see(member, bound(member, "n1"), deleted(bound(member, "n1")))
    stream.gone(member)

    assert [] == stream.end()


def test_two_nodes_are_found() -> None:
    stream, member = Stream("bindings"), pod("a")
    stream.see(member, bound(member, "n1"), bound(member, "n2"))

    assert [("bindings", "Pod lab/a")] == stream.end()
    assert "bound twice: to n1, then to n2" == stream.found[0].message


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (deleted(pod("a")), "was being deleted"),
        (ended(pod("a")), "had ended"),
        (changed(pod("a"), spec={"schedulingGates": [{"name": "quota"}]}), "had scheduling gates"),
    ],
)
def test_a_pod_that_must_not_be_bound_is_found(before: dict[str, object], words: str) -> None:
    stream = Stream("bindings")
    stream.see(before)
    stream.wait(20)
    stream.see(bound(before, "n1"))

    assert [f"bound to n1 while it {words}"] == [each.message for each in stream.found]


def test_a_pod_may_have_ended_while_its_binding_was_on_its_way() -> None:
    stream = Stream("bindings")
    stream.see(pod("a"), ended(pod("a")))
    stream.wait(10)
    stream.see(bound(ended(pod("a")), "n1"))

    assert [] == stream.end()


def test_gates_may_have_gone_between_two_lists() -> None:
    stream, member = Stream("bindings"), pod("a")
    gated = changed(member, spec={"schedulingGates": [{"name": "quota"}]})
    stream.listed(gated, gated)
    stream.wait(60)
    stream.listed(gated, bound(member, "n1"))

    assert [] == stream.end()
