"""Requests for nodes in what `simulate` prints."""

from typing import Any

from gang_scheduler.model.provisioning import RequestState
from gang_scheduler.simulation import output_document
from support.bought_nodes import CLASS, BoughtNodes


def shown(nodes: BoughtNodes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = output_document.provisioning_requests(nodes.cache)["provisioning"]
    return found


def test_a_request_that_would_be_made_says_for_which_nodes() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2, cpu=3)
    nodes.cycle()

    (found,) = shown(nodes)

    pod_set = {"pod": "default/a-0", "count": 2, "requests": {"cpu": "3"}}
    assert found.pop("request").startswith("pgs-")
    assert {
        "gang": "default/a",
        "class": CLASS,
        "attempt": 1,
        "state": "Asked",
        "new": True,
        "podSets": [pod_set],
    } == found


def test_a_request_that_is_there_says_what_came_of_it() -> None:
    nodes = BoughtNodes()
    nodes.gang("a", 2)
    nodes.settle()
    nodes.answer(nodes.names[0], RequestState.FAILED)

    (found,) = shown(nodes)

    assert ("Failed", False) == (found["state"], found["new"])
    assert "podSets" not in found


def test_where_nodes_cannot_be_asked_for_nothing_is_said_of_it() -> None:
    assert {} == output_document.provisioning_requests(BoughtNodes(enabled=False).cache)
    assert {} == output_document.provisioning_requests(BoughtNodes(served=False).cache)
