"""A pod with no gang is a gang of one; pods of other schedulers are none of our business."""

import pytest

from e2e.support.manifests import pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]


def test_a_pod_alone_is_bound_and_an_event_says_where(namespace: Namespace) -> None:
    namespace.create(pod("alone"))

    node = until(lambda: namespace.node_of("alone"))
    expected = [f"Successfully assigned {namespace.name}/alone to {node}"]
    eventually(expected, lambda: namespace.notes("alone", "Scheduled"))
    eventually("Running", lambda: namespace.get("pods", "alone")["status"]["phase"])


def test_the_binding_carries_the_plan(namespace: Namespace) -> None:
    namespace.create(pod("alone"))
    until(lambda: namespace.node_of("alone"))

    annotations = namespace.get("pods", "alone")["metadata"]["annotations"]
    assert {"py-gang-scheduler.io/plan-id", "py-gang-scheduler.io/plan-size"} == set(annotations)
    assert "1" == annotations["py-gang-scheduler.io/plan-size"]


def test_a_pod_that_fits_nowhere_says_so_before_kube_schedulers_words(namespace: Namespace) -> None:
    namespace.create(pod("huge", cpu=1000))

    eventually("Unschedulable", lambda: namespace.condition_of_pod("huge").get("reason"))
    condition = namespace.condition_of_pod("huge")
    assert "False" == condition["status"]
    first, _, then = condition["message"].partition(". ")
    assert first.startswith("It asks 1000 cpu, and the largest node has ")
    assert (
        "It would not fit even the empty cluster: ask for less, or add larger nodes. "
        "0/16 nodes are available: 16 Insufficient cpu."
    ) == then
    assert [condition["message"]] == until(lambda: namespace.notes("huge", "FailedScheduling"))


def test_a_pod_that_fits_nowhere_holds_no_pod_up(namespace: Namespace) -> None:
    namespace.create(pod("huge", cpu=1000))
    namespace.create(pod("small"))

    until(lambda: namespace.node_of("small"))
    assert namespace.node_of("huge") is None


def test_a_pod_with_a_scheduling_gate_waits_for_it(namespace: Namespace) -> None:
    namespace.create(pod("gated", schedulingGates=[{"name": "example.com/gate"}]))
    namespace.create(pod("later"))
    until(lambda: namespace.node_of("later"))
    assert namespace.node_of("gated") is None

    namespace.change_pod("gated", lambda found: found["spec"].pop("schedulingGates"))

    until(lambda: namespace.node_of("gated"))


def test_a_pod_of_another_scheduler_is_left_alone(namespace: Namespace) -> None:
    namespace.create(pod("theirs", scheduler="somebody-else"))
    namespace.create(pod("ours"))

    until(lambda: namespace.node_of("ours"))
    theirs = namespace.get("pods", "theirs")
    assert "nodeName" not in theirs["spec"]
    assert [] == theirs["status"].get("conditions", [])
