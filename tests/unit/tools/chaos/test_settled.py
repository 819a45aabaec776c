"""The state at rest, judged by what pods and PodGroups say."""

from typing import Any

from tools.chaos import settled
from tools.chaos.workload import Gang


def pod(name: str, gang: str, node: str = "", **status: Any) -> dict[str, Any]:
    labels = {"pod-group.scheduling.sigs.k8s.io": gang}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": "Running" if node else "Pending", **status},
    }


def gang(name: str, least: int) -> dict[str, Gang]:
    return {name: Gang(name, "PodGroup", least, (), least)}


def test_a_gang_in_part_is_wrong_unless_it_was_whole() -> None:
    pods = [pod("g-0", "g", "node-1"), pod("g-1", "g")]

    assert ["in part: 1 of 2 of g (PodGroup)"] == list(settled.in_part(pods, gang("g", 2), set()))
    assert [] == list(settled.in_part(pods, gang("g", 2), {"g"}))
    assert [] == list(settled.in_part(pods, gang("g", 1), set()))
    assert [] == list(settled.in_part(pods[1:], gang("g", 2), set()))


def claim(name: str, *users: str, device: str = "") -> dict[str, Any]:
    results = [{"pool": "node-1", "device": device}]
    allocation = {"allocation": {"devices": {"results": results}}} if device else {}
    reserved = [{"uid": f"uid-{each}", "name": each} for each in users]
    return {"metadata": {"name": name}, "status": {**allocation, "reservedFor": reserved}}


def test_devices_that_no_bound_pod_uses_and_devices_in_two_claims_are_wrong() -> None:
    pods = [pod("g-0", "g", "node-1"), pod("g-1", "g")]
    for each in pods:
        each["metadata"]["uid"] = f"uid-{each['metadata']['name']}"
    of_bound, free = claim("a", "g-0", device="gpu-0"), {"metadata": {"name": "free"}}
    vain = [
        claim("pending", "g-1", device="gpu-1"),
        claim("both", "g-0", "g-1", device="gpu-2"),
        claim("gone", "g-2", device="gpu-3"),
        claim("nobodys", device="gpu-4"),
    ]

    assert [] == list(settled.held_in_vain(pods, [of_bound, free]))
    assert [
        f"claim {name} has devices, and a user that is not bound, or none"
        for name in ("pending", "both", "gone", "nobodys")
    ] == list(settled.held_in_vain(pods, [of_bound, free, *vain]))
    assert ["device node-1/gpu-0 is in claims a and b"] == list(
        settled.held_in_vain(pods, [of_bound, claim("b", "g-0", device="gpu-0")])
    )


def test_marks_and_nominations_that_nothing_follows_from_are_wrong() -> None:
    mark = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    marked = pod("g-0", "g", "node-1", conditions=[mark])
    nominated = pod("h-0", "h", nominatedNodeName="node-1")

    assert [
        "marked, and not evicted: g-0",
        "nominated, and nothing leaves: h-0",
    ] == list(settled.left_over([marked, nominated]))
    assert [] == list(settled.left_over([pod("g-0", "g", "node-1", nominatedNodeName="node-1")]))


def test_there_is_no_rest_while_pods_leave() -> None:
    leaving = pod("g-0", "g", "node-1")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert ["pods are leaving"] == list(settled.left_over([leaving]))


def test_a_status_must_say_how_many_are_bound() -> None:
    pods = [pod("g-0", "g", "node-1"), pod("g-1", "g")]
    right = {"metadata": {"name": "g"}, "status": {"scheduled": 1}}
    wrong = {"metadata": {"name": "g"}, "status": {"scheduled": 2}}

    assert [] == list(settled.statuses(pods, [right]))
    assert ["status of g: 2 scheduled, and it is 1"] == list(settled.statuses(pods, [wrong]))


def test_a_watch_that_tells_nothing_any_more_is_found() -> None:
    exposition = (
        "# TYPE pgs_watch_age_seconds gauge\n"
        'pgs_watch_age_seconds{kind="pods"} 197.4\n'
        'pgs_watch_age_seconds{kind="nodes"} 12.0\n'
        'pgs_objects_seen_total{kind="nodes"} 100.0\n'
    )

    assert ["the watch of pods has received nothing for 197 s"] == [
        *settled.stopped_watches(exposition)
    ]
