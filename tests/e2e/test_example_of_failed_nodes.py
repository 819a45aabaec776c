"""What the README of an example has its readers do after the start: a node is said to be lost."""

from collections.abc import Iterator
from typing import Any

import pytest

from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.demo import cluster, examples, placements

pytestmark = pytest.mark.e2e

EXAMPLE = next(each for each in examples.directories() if each.name.endswith("-failed-nodes"))
NAMESPACE = "default"
EVENTS = f"apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events"
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture(scope="module")
def plane() -> Iterator[controlplane.ControlPlane]:
    """Give the demo's cluster, on which examples are run."""
    with cluster.running(nodes_file=examples.load(EXAMPLE).nodes_file) as (started, _):
        yield started


def test_the_place_of_a_member_is_taken_on_another_node_and_the_gang_gets_an_event(
    plane: controlplane.ControlPlane,
) -> None:
    readme = (EXAMPLE / "README.md").read_text()
    plane.kubectl("apply", "-f", str(EXAMPLE))
    eventually(4, lambda: len(placed(plane)))
    before = placed(plane)
    _, lost = before["0"]

    assert f"kubectl taint node $NODE {OUT_OF_SERVICE}\n" in readme
    plane.kubectl("taint", "node", lost, OUT_OF_SERVICE)

    until(lambda: told(plane, "DegradedDomain"))
    assert any(f"node {lost} " in note for note in told(plane, "DegradedDomain"))
    eventually(4, lambda: len(others(plane, before["0"])))
    until(lambda: told(plane, "DomainHealed"))
    after = placed(plane)
    assert {rank: before[rank] for rank in "123"} == {rank: after[rank] for rank in "123"}
    assert 4 == len({node for _, node in after.values()})
    assert lost != after["0"][1]

    assert "kubectl taint node $NODE node.kubernetes.io/out-of-service-\n" in readme
    plane.kubectl("taint", "node", lost, "node.kubernetes.io/out-of-service-")
    plane.kubectl("delete", "-f", str(EXAMPLE))
    eventually([], lambda: placements.pods(plane, NAMESPACE))


def placed(plane: controlplane.ControlPlane) -> dict[str, tuple[str, str]]:
    """Return the uid and the node of each living member that has one, by its index."""
    return {
        pod["metadata"]["annotations"][INDEX]: (pod["metadata"]["uid"], pod["spec"]["nodeName"])
        for pod in placements.pods(plane, NAMESPACE)
        if pod["spec"].get("nodeName") and _is_living(pod)
    }


def others(plane: controlplane.ControlPlane, lost: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the same without the lost one."""
    return [each for each in placed(plane).values() if each != lost]


def told(plane: controlplane.ControlPlane, reason: str) -> list[str]:
    """Return what the Events of a reason say about the Job."""
    return [
        each["note"]
        for each in placements.items(plane, EVENTS)
        if (each["reason"], each["regarding"]["name"]) == (reason, "climate")
    ]


def _is_living(pod: dict[str, Any]) -> bool:
    ended = pod["status"].get("phase") in ("Failed", "Succeeded")
    return not ended and "deletionTimestamp" not in pod["metadata"]
