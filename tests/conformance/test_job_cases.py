"""The worked cases of Koordinator: plans through `simulate`, tables through the code that reads."""

import json

import pytest

from conformance import job_manifests, simulated, trees
from conformance.job_manifests import Case
from gang_scheduler.api import annotations
from gang_scheduler.decode import topology
from gang_scheduler.model.pods import Pod, rank_key
from gang_scheduler.report.pod_group_status import View, status_of
from gang_scheduler.state.gangs import phases
from gang_scheduler.state.gangs.gang_info import GangInfo
from support import api_objects, builders
from support import decoded as pod_decode
from support.gang_queue_builders import gang_info

ELSEWHERE = {
    "topologyStatus": "tests/unit/state/test_topologies.py and tests/e2e/test_topology_status.py",
    "topologyInvalid": ("tests/unit/state/test_topologies.py and tests/unit/model/test_layers.py"),
}
"""Kinds of cases that other tests judge, from the same file."""
INTERNAL = {
    "preempt-already-attempted": "what another plugin left in its cycle state",
    "preempt-no-pending": "a trigger pod that is not pending",
    "preempt-unresolvable-nodes": "status codes of other plugins",
}
"""Cases that inject the internals of another scheduler: nothing in a cluster says such things."""
TOO_OLD = "not enqueued: too old"
"""The note of the one row that we contradict on purpose: no gang is too old to be looked at."""


def rows(kind: str, table: str = "table") -> list[Case]:
    return [row for case in trees.cases(kind).values() for row in case["expect"][table]]


@pytest.mark.parametrize("case", [*trees.cases("plan").values()], ids=lambda case: case["id"])
def test_plan(case: Case) -> None:
    expected = case["expect"]

    outcome = simulated.decide(job_manifests.manifests(case))

    assert expected.get("assignments", {}) == outcome.bound
    assert [] == outcome.over_committed()
    if expected["result"] == "unschedulable":
        reasons = {reason for reason, _ in outcome.refused.values()}
        assert {"Unschedulable"} == reasons
        first = beginning(expected["message"])
        assert all(first in message for _, message in outcome.refused.values())


@pytest.mark.parametrize("case", [*trees.cases("preempt").values()], ids=lambda case: case["id"])
def test_preempt(case: Case) -> None:
    expected = case["expect"]

    outcome = simulated.decide(job_manifests.manifests(case))

    assert set(expected["victims"]) == outcome.victims
    assert expected["nominations"] == outcome.nominated
    assert [] == outcome.over_committed()
    assert ({}, {}) == (outcome.bound, outcome.refused)


def test_why_a_pod_must_go() -> None:
    case = trees.cases("preempt")["preempt-doc-must-spine"]
    expected = case["expect"]["planMessageBefore"]

    outcome = simulated.decide(job_manifests.manifests(case, peaceful=True))

    assert not outcome.victims
    first = beginning(expected)
    assert all(first in message for _, message in outcome.refused.values())


@pytest.mark.parametrize(
    "case",
    [case for case in trees.cases("preempt-gate").values() if case["id"] not in INTERNAL],
    ids=lambda case: case["id"],
)
def test_a_gang_that_waits_for_pods_that_leave_already_evicts_no_pod(case: Case) -> None:
    outcome = simulated.decide(job_manifests.manifests(case))

    assert not outcome.victims
    assert not outcome.bound
    assert case["expect"]["reason"] in str(outcome.refused)


def beginning(message: str) -> str:
    """Return a message up to its first number of slots."""
    return message.partition(";")[0] + ";"


@pytest.mark.parametrize("row", rows("parseMultiples"))
def test_multiples(row: Case) -> None:
    spec = json.dumps({"gatherStrategy": row["gatherStrategy"]})

    asked = topology.network_topology_spec({annotations.NETWORK_TOPOLOGY_SPEC: spec})

    slices = asked.slices if asked else ()
    assert (row["result"] or {}) == {each.layer.name: each.size for each in slices}


def indexed(name: str, index: str | None) -> Pod:
    spec = {} if index is None else {annotations.NETWORK_TOPOLOGY_INDEX: index}
    return pod_decode.pod(api_objects.pod_body(name, metadata={"annotations": spec}))


@pytest.mark.parametrize("row", rows("podIndex"))
def test_pod_index(row: Case) -> None:
    member = indexed("p", row["annotation"])

    assert (() if row["index"] < 0 else (row["index"],)) == member.rank
    assert row["error"] == (member.problem is not None)


@pytest.mark.parametrize("row", rows("podIndex", "sort"))
def test_order_by_pod_index(row: Case) -> None:
    members = [
        indexed(each, None) if isinstance(each, str) else indexed("", str(each["index"]))
        for each in row["pods"]
    ]

    found = sorted(members, key=rank_key)

    assert row["order"] == [pod.name or pod.rank[0] for pod in found]


@pytest.mark.parametrize("row", rows("occupiedBy"))
def test_occupied_by(row: Case) -> None:
    owners = [{"kind": "X", "name": each, "uid": each} for each in row["ownerRefs"]]
    metadata = {"namespace": row["namespace"], "ownerReferences": owners}
    member = pod_decode.pod(api_objects.pod_body("p", metadata=metadata))
    spec = builders.gang_spec("a")
    info = gang_info(spec.key, [member], [spec])

    found = status_of(info, spec, View({}, now=0))["occupiedBy"]

    # An empty one is absent: null removes it from what is written already.
    assert (row["occupiedBy"] or None) == found


@pytest.mark.parametrize("row", [row for row in rows("phase") if row.get("note") != TOO_OLD])
def test_phase(row: Case) -> None:
    assert row["phase"] == phases.phase_of(phases.counts_of(record_of(row)))


def record_of(row: Case) -> GangInfo:
    """Return a gang whose pods are as a row says; one that was scheduled has nodes."""
    phase = row.get("podNextPhase") or row.get("podPhase") or "Running"
    waits = row["previous"] == "Pending" and phase == "Pending"
    spec = builders.gang_spec("a", row["minMember"])
    pods = [
        builders.pod(f"a-{i}", gang="a", node="" if waits else "n", phase=phase)
        for i in range(row["pods"])
    ]
    return gang_info(spec.key, pods, [spec])


def test_every_kind_of_case_is_judged_or_listed() -> None:
    judged = {
        "plan",
        "preempt",
        "preempt-gate",
        "podIndex",
        "occupiedBy",
        "phase",
        "parseMultiples",
    }
    kinds = {str(case["kind"]) for case in trees.DATA["cases"]}

    assert judged | ELSEWHERE.keys() == kinds
    assert trees.cases("preempt-gate").keys() >= INTERNAL.keys()
