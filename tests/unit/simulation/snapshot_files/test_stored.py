"""Objects of a snapshot count as they did in their cluster."""

import json
from typing import Any

from gang_scheduler.api.kinds import NODES, PODS
from gang_scheduler.model.pods import Pod
from gang_scheduler.simulation import snapshot_files
from gang_scheduler.simulation.snapshot_files import Header, Stored
from gang_scheduler.workloads.table import MEMBERSHIP

HEADER = Header(
    kind="SnapshotHeader",
    api_version=snapshot_files.API_VERSION,
    version="1",
    taken_at="2024-05-01T12:00:00Z",
)


def of(body: Any) -> snapshot_files.Found:
    """Return what is found of one object."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    (found,) = snapshot_files.load_stored([Stored("f", 2, raw, HEADER)], MEMBERSHIP)
    return found


def pod(**spec: Any) -> dict[str, Any]:
    """Return a pod."""
    metadata = {"name": "p", "namespace": "a", "uid": "u"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_a_pod_keeps_what_it_has_and_gets_no_scheduler() -> None:
    found = of(pod(nodeName="n"))

    assert isinstance(found.decoded, Pod)
    assert (PODS, "", "n") == (found.gvr, found.decoded.scheduler, found.decoded.node)


def test_a_null_is_as_good_as_nothing() -> None:
    assert of(pod(nodeName=None)).decoded == of(pod()).decoded


def test_a_pod_that_cannot_be_read_keeps_its_place_on_its_node() -> None:
    found = of(pod(nodeName="n", priority="high"))

    assert isinstance(found.decoded, Pod)
    assert (found.decoded.node, found.note) == (
        "n",
        'f: line 2: Pod a/p: spec.priority must be a whole number or absent, not "high"; left out',
    )


def test_a_node_that_cannot_be_read_is_left_out() -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "uid": "u"}}
    found = of(node | {"status": {"allocatable": {"cpu": "lots"}}})

    assert (NODES, None) == (found.gvr, found.decoded)
    assert "lots" in found.note


def test_what_is_no_object_is_a_problem() -> None:
    assert of(b"[]").problem.startswith("f: line 2: Expected `object`")
    assert of({"kind": "Secret", "apiVersion": "v1"}).problem == (
        "f: line 2: Secret (v1) is of no kind that is read here"
    )


def test_a_number_that_nothing_can_hold_is_a_problem() -> None:
    number = "9" * 5000
    text = json.dumps(pod(nodeName="n")).replace('"uid"', f'"labels": {{"x": {number}}}, "uid"')

    assert of(text.encode()).problem.startswith("f: line 2: Integer value out of range")


def test_the_key_of_an_object_is_its_kind_and_name() -> None:
    keys = [
        snapshot_files.key_of(Stored("f", 2, each, HEADER))
        for each in (json.dumps(pod()).encode(), b"[]")
    ]

    assert [("Pod", "", "a", "p"), ("", "", "", "")] == keys
