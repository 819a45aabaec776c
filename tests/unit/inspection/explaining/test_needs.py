"""What is to be created or mended first, whose turn that is, and that nothing else is told then."""

from pathlib import Path
from typing import Any

import pytest

from support.listed_clusters import Body, asked, document, gang, node, queue

NODES = [node("n-0"), node("n-1")]
SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
GATHERS = '{"gatherStrategy": [{"layer": "RackLayer", "strategy": "MustGather"}]}'


def needs(directory: Path, bodies: list[Body], nodes: list[Body] = NODES) -> list[Any]:
    found: list[Any] = document("explain", directory, [*nodes, *bodies], "team/asks").get(
        "needs", []
    )
    return found


def claiming(*claims: str) -> list[Body]:
    bodies = gang("asks", len(claims))
    for each, claim in zip(bodies[1:], claims, strict=True):
        each["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return bodies


def test_claims_that_do_not_exist_are_named(tmp_path: Path) -> None:
    (need,) = needs(tmp_path, claiming("data-0", "data-1"))

    claims = "PersistentVolumeClaim team/data-0, team/data-1"
    assert {"object": claims, "field": None, "value": "create it", "by": "submitter"} == need


def test_where_something_is_to_be_created_no_change_is_reported(tmp_path: Path) -> None:
    text = asked("explain", tmp_path, [*NODES, *claiming("data")], "team/asks").stdout

    assert "IT NEEDS\n  PersistentVolumeClaim team/data: create it (submitter)\n" in text
    assert "IT WOULD START NOW WITH" not in text


def test_a_queue_is_for_its_administrator_to_create(tmp_path: Path) -> None:
    (need,) = needs(tmp_path, [queue("red", 8), *gang("asks", 1, queue="blue")])

    assert ("Queue blue", "queue administrator") == (need["object"], need["by"])


def test_a_layer_is_for_the_platform_to_create(tmp_path: Path) -> None:
    *_, need = needs(tmp_path, gang("asks", 1, annotations={SPEC: GATHERS}))

    assert ("ClusterNetworkTopology default", "platform") == (need["object"], need["by"])
    assert "spec.networkTopologySpec" == need["field"]
    assert need["value"].startswith("a layer RackLayer")


def test_a_pod_group_is_for_the_submitter_to_create(tmp_path: Path) -> None:
    (need,) = needs(tmp_path, gang("asks", 1)[1:])

    assert ("PodGroup team/asks", "submitter") == (need["object"], need["by"])


@pytest.mark.parametrize(
    ("number", "said"), [(1, "Node n-0"), (5, "Nodes n-0, n-1, n-2 and 2 more")]
)
def test_nodes_that_are_cordoned_are_for_the_platform_to_bring_back(
    tmp_path: Path, number: int, said: str
) -> None:
    nodes = [node(f"n-{each}") for each in range(number)]
    for each in nodes:
        each["spec"] = {"unschedulable": True}

    (need,) = needs(tmp_path, gang("asks", 1), nodes)

    assert (said, "spec.unschedulable", "platform") == (need["object"], need["field"], need["by"])


def test_one_that_lacks_nothing_but_room_needs_nothing_first(tmp_path: Path) -> None:
    assert [] == needs(tmp_path, gang("asks", 3))
