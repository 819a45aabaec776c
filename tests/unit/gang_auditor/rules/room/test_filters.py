"""Nodes that do not take a pod."""

from typing import Any

import pytest

from gang_auditor.objects import Node, Pod
from gang_auditor.rules.room import fault_of
from gang_auditor.watch_events import rfc3339
from support.audit_streams import Stream, bound, node, pod

TAINT = {"key": "dedicated", "value": "infra", "effect": "NoSchedule"}


def required(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def zone(operator: str, *values: str) -> dict[str, Any]:
    return required({"key": "zone", "operator": operator, "values": list(values)})


@pytest.mark.parametrize(
    ("fields", "of_node", "words"),
    [
        ({}, {}, ""),
        ({}, {"unschedulable": True}, "is cordoned"),
        (
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            {"unschedulable": True},
            "",
        ),
        ({}, {"ready": "False"}, "is not ready"),
        ({}, {"ready": "Unknown"}, "is not ready"),
        ({"tolerations": [{"operator": "Exists"}]}, {"ready": "False"}, ""),
        ({"nodeSelector": {"zone": "a"}}, {"labels": {"zone": "a"}}, ""),
        ({"nodeSelector": {"zone": "b"}}, {"labels": {"zone": "a"}}, "does not match"),
        ({"affinity": zone("In", "a")}, {"labels": {"zone": "a"}}, ""),
        ({"affinity": zone("NotIn", "a")}, {"labels": {"zone": "a"}}, "does not match"),
        ({"affinity": zone("Exists")}, {}, "does not match"),
        ({"affinity": zone("DoesNotExist")}, {}, ""),
        ({"affinity": zone("Gt", "5")}, {"labels": {"zone": "6"}}, ""),
        ({"affinity": zone("Lt", "5")}, {"labels": {"zone": "six"}}, "does not match"),
        ({"affinity": required()}, {}, "does not match"),
        ({}, {"taints": [TAINT]}, "has the taint dedicated=infra:NoSchedule"),
        ({}, {"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}, ""),
        ({"tolerations": [{"key": "dedicated", "value": "infra"}]}, {"taints": [TAINT]}, ""),
        ({"tolerations": [{"key": "dedicated", "value": "x"}]}, {"taints": [TAINT]}, "has the"),
        (
            {"tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoExecute"}]},
            {"taints": [TAINT]},
            "has the taint",
        ),
    ],
)
def test_what_a_node_takes(fields: dict[str, Any], of_node: dict[str, Any], words: str) -> None:
    found = fault_of(Pod(pod("a", **fields)), Node(node("n1", **of_node)))

    assert found.startswith(words)
    assert bool(words) == bool(found)


def test_a_node_that_does_not_take_a_pod_is_found() -> None:
    stream = Stream("filters")
    stream.see(node("n1", taints=[TAINT]))
    stream.see(bound(pod("a"), "n1"))

    assert [("filters", "Pod lab/a")] == stream.end()
    words = "bound to n1, which has the taint dedicated=infra:NoSchedule"
    assert words == stream.found[0].message


def test_a_node_that_is_not_there_is_found() -> None:
    stream = Stream("filters")
    stream.see(node("n1"))
    stream.gone(node("n1"))
    stream.wait(30)
    stream.see(bound(pod("a"), "n1"))

    stream.end()
    assert ["bound to n1, which does not exist"] == [each.message for each in stream.found]


def test_a_node_that_changes_at_the_same_time_may_have_taken_it() -> None:
    stream = Stream("filters")
    stream.see(node("n1"))
    stream.wait(60)
    stream.see(node("n1", unschedulable=True), bound(pod("a"), "n1"))
    stream.see(node("n2", unschedulable=True))
    stream.wait(60)
    stream.see(bound(pod("b"), "n2"), node("n2"))

    assert [] == stream.end()


@pytest.mark.parametrize(("seconds", "is_found"), [(14, False), (16, True)])
def test_a_binding_may_have_been_on_its_way(seconds: float, *, is_found: bool) -> None:
    stream = Stream("filters")
    stream.see(node("n1"))
    stream.see(node("n1", unschedulable=True))
    stream.wait(seconds)
    stream.see(bound(pod("a"), "n1"))

    stream.end()
    assert is_found == bool(stream.found)


@pytest.mark.parametrize(("seconds", "is_found"), [(50, False), (10, True)])
def test_a_binding_that_is_seen_late_is_judged_by_the_node_of_its_time(
    seconds: float, *, is_found: bool
) -> None:
    stream = Stream("filters")
    stream.see(node("n1"))
    stream.wait(60)
    stream.see(node("n1", unschedulable=True))
    stream.wait(40)
    late = bound(pod("a"), "n1")
    condition = {"type": "PodScheduled", "status": "True"}
    condition["lastTransitionTime"] = rfc3339(stream.now - seconds)
    late["status"]["conditions"] = [condition]
    stream.see(late)

    stream.end()
    assert is_found == bool(stream.found)


@pytest.mark.parametrize("time", ["", "soon", "9999-99-99T00:00:00Z", None])
def test_a_time_of_a_binding_that_cannot_be_read_is_unknown(time: str | None) -> None:
    scheduled = bound(pod("a"), "n1")
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time}
    scheduled["status"]["conditions"] = [condition]

    assert Pod(scheduled).scheduled_at is None


def test_what_other_hands_bind_is_not_judged() -> None:
    stream = Stream("filters")
    stream.see(node("n1", taints=[TAINT]), bound(pod("a"), "n1", plan=None))

    assert [] == stream.end()
