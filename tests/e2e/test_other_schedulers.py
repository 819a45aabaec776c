"""A pod that any scheduler bound counts; when it goes, its room is there for a waiting gang."""

import pytest

from e2e.support.manifests import gang, members, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


def test_a_gang_waits_for_the_room_that_pods_of_others_take(namespace: Namespace) -> None:
    first, second = namespace.own_nodes(2, cpu=4)
    namespace.create(pod("theirs", cpu=4, scheduler="somebody-else"))
    namespace.bind("theirs", first)
    eventually("Running", lambda: namespace.get("pods", "theirs")["status"]["phase"])

    namespace.create(*gang("a", 2, cpu=3, on=namespace.here))
    eventually("Unschedulable", lambda: namespace.condition_of_gang("a", "Scheduled").get("reason"))
    assert {} == namespace.bound("a")
    namespace.delete("pods", "theirs")

    eventually({first, second}, lambda: set(namespace.bound("a").values()))


def test_a_pod_of_others_that_ended_takes_no_room(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1, cpu=4, kubelets=False)
    namespace.create(pod("theirs", cpu=4, scheduler="somebody-else"))
    namespace.bind("theirs", node)
    namespace.set_phase("theirs", "Running")
    namespace.create(pod("ours", cpu=4, on=namespace.here))
    eventually("Unschedulable", lambda: namespace.condition_of_pod("ours").get("reason"))

    namespace.set_phase("theirs", "Succeeded")

    eventually(node, lambda: namespace.node_of("ours"))


def test_a_member_bound_by_hand_counts_for_its_gang(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1, cpu=8)
    group, *pods = gang("a", 3, on=namespace.here)
    namespace.create(*pods)
    namespace.bind("a-0", node)
    namespace.create(group)

    eventually(dict.fromkeys(["a-0", "a-1", "a-2"], node), lambda: namespace.bound("a"))
    eventually(3, lambda: namespace.status("a").get("running"))
    # What is left of the gang was one plan of two.
    plan = namespace.get("pods", "a-1")["metadata"]["annotations"]
    assert "2" == plan["py-gang-scheduler.io/plan-size"]


def test_a_pod_of_another_scheduler_with_the_label_of_a_gang_is_no_member(
    namespace: Namespace,
) -> None:
    namespace.create(*gang("a", 1, min_member=2))
    namespace.create(*members("a", 1, first=1, scheduler="somebody-else"))
    namespace.create(pod("later"))
    until(lambda: namespace.node_of("later"))

    eventually(1, lambda: namespace.status("a").get("members"))
    assert {} == namespace.bound("a")
