"""The nodes that count as failed, as time passes."""

from collections.abc import Collection
from dataclasses import replace

from gang_scheduler.model.failures import NodeFailure
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.rules import GangRules
from gang_scheduler.state.failures import FailedNodes
from support.builders import node


def nodes(*those: Node) -> FailedNodes:
    made = FailedNodes(GangRules(node_failure_seconds=30))
    for each in those:
        made.upsert(each)
    return made


def out(name: str, since: int = 0) -> Node:
    return replace(node(name, ready=False), not_ready_since=since)


def settle(found: FailedNodes, now: int, with_pods: Collection[str] = ()) -> set[str]:
    return found.settle(now, lambda name: name in with_pods)


def test_a_node_fails_when_it_was_not_ready_for_long_enough() -> None:
    found = nodes(out("n1", since=100), node("n2"))

    assert set() == settle(found, 129)
    assert {"n1"} == settle(found, 130)
    assert set() == settle(found, 131)
    assert frozenset({"n1"}) == found.names
    failed = found.get("n1")
    assert failed is not None
    assert (NodeFailure.NOT_READY, 100) == (failed.failure, failed.since)


def test_a_node_that_does_not_say_since_when_counts_from_when_it_was_seen() -> None:
    found = nodes(out("n1"))

    assert set() == settle(found, 500)
    assert set() == settle(found, 529)
    assert {"n1"} == settle(found, 530)


def test_another_change_of_its_condition_does_not_begin_anew() -> None:
    found = nodes(out("n1", since=100))
    found.upsert(out("n1", since=120))

    assert {"n1"} == settle(found, 130)


def test_a_node_that_is_ready_again_has_not_failed() -> None:
    found = nodes(out("n1", since=100))
    settle(found, 200)

    found.upsert(node("n1"))

    assert frozenset() == found.names
    assert set() == settle(found, 201)
    assert not found.is_suspect("n1")


def test_a_node_that_is_gone_counts_until_its_last_pod_is_gone() -> None:
    found = nodes(node("n1"))
    found.gone("n1")

    assert {"n1"} == settle(found, 100, ["n1"])
    assert set() == settle(found, 150, ["n1"])
    failed = found.get("n1")
    assert failed is not None
    assert (NodeFailure.GONE, 100) == (failed.failure, failed.since)
    assert {"n1"} == settle(found, 151)


def test_a_node_that_comes_back_is_not_gone() -> None:
    found = nodes(node("n1"))
    found.gone("n1")
    settle(found, 100, ["n1"])

    found.upsert(node("n1"))

    assert found.get("n1") is None
    assert set() == settle(found, 101, ["n1"])


def test_the_names_are_the_same_object_while_none_comes_or_goes() -> None:
    found = nodes(out("n1", since=1))
    settle(found, 100)
    before = found.names

    settle(found, 101)

    assert before is found.names
