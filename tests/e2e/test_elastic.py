"""Elastic gangs: minMember together or not at all, the surplus as room allows."""

from functools import partial

import pytest

from e2e.support.manifests import gang, members, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


def test_the_quorum_runs_and_the_surplus_follows_when_room_is_freed(namespace: Namespace) -> None:
    namespace.own_nodes(5, cpu=1)
    namespace.create(*gang("other", 1, on=namespace.here))
    eventually(1, lambda: len(namespace.bound("other")))

    namespace.create(*gang("a", 5, min_member=3, on=namespace.here))
    eventually(4, lambda: len(namespace.bound("a")))
    eventually("Running", lambda: namespace.phase("a"))
    (left_over,) = {f"a-{i}" for i in range(5)} - set(namespace.bound("a"))
    eventually("Unschedulable", lambda: namespace.condition_of_pod(left_over).get("reason"))
    assert "5 Insufficient cpu" in namespace.condition_of_pod(left_over)["message"]

    namespace.delete("pods", "other-0")
    eventually(5, lambda: len(namespace.bound("a")))
    eventually((5, 5), lambda: counts(namespace, "a"))


def test_less_than_the_quorum_binds_no_pod(namespace: Namespace) -> None:
    namespace.own_nodes(2, cpu=1)
    with namespace.watch() as watcher:
        namespace.create(*gang("a", 5, min_member=3, on=namespace.here))
        eventually("Unschedulable", lambda: reason(namespace, "a"))

        assert set() == watcher.ever_bound("a")


def test_every_quorum_comes_before_any_surplus(namespace: Namespace) -> None:
    namespace.own_nodes(1, cpu=6)
    namespace.create(pod("before", cpu=6, on=namespace.here))
    until(lambda: namespace.node_of("before"))
    for name in "ab":
        namespace.create(*gang(name, 5, min_member=3, on=namespace.here))
        eventually("Unschedulable", partial(reason, namespace, name))

    # Both are waiting, so both are decided in the cycle that the freed room starts.
    namespace.delete("pods", "before")

    eventually({"a": 3, "b": 3}, lambda: {g: len(namespace.bound(g)) for g in "ab"})


def test_a_member_added_to_a_running_gang_joins_it(namespace: Namespace) -> None:
    namespace.create(*gang("a", 2))
    eventually("Running", lambda: namespace.phase("a"))

    namespace.create(*members("a", 1, first=2))

    eventually(3, lambda: len(namespace.bound("a")))
    eventually((3, 3), lambda: counts(namespace, "a"))


def test_a_member_of_a_running_gang_is_replaced_alone(namespace: Namespace) -> None:
    namespace.create(*gang("a", 3))
    eventually("Running", lambda: namespace.phase("a"))

    namespace.delete("pods", "a-1")
    namespace.create(*members("a", 1, first=1))

    eventually(3, lambda: len(namespace.bound("a")))
    eventually("Running", lambda: namespace.phase("a"))


def reason(namespace: Namespace, gang_name: str) -> str | None:
    found: str | None = namespace.condition_of_gang(gang_name, "Scheduled").get("reason")
    return found


def counts(namespace: Namespace, gang_name: str) -> tuple[int, int]:
    status = namespace.status(gang_name)
    return status["members"], status["running"]
