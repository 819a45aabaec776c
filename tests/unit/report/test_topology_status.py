"""The status of a tree that is too large to be stored: the top of it, and a word on the rest."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import pytest

from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec, in_order
from gang_scheduler.model.nodes import Node, NodeTable
from gang_scheduler.model.topology import Topology, build
from gang_scheduler.report import topology_status

MANY = 20_000
MOST_BYTES = 1_000_000
LAYERS = in_order(
    [
        Layer("SpineLayer", "", ("spine",)),
        Layer("RackLayer", "SpineLayer", ("rack",)),
        Layer(NODE_LAYER, "RackLayer"),
    ]
)
Detail = dict[str, Any]


def tree_of(nodes: int, labels: Callable[[int], Mapping[str, str]]) -> Topology:
    """Return a tree; `labels` are those of a node by its number."""
    table = NodeTable(
        Node(f"node-{i:05d}.example.com", labels={"spine": f"s{i // 2000}", **labels(i)})
        for i in range(nodes)
    )
    return build(TreeSpec("t", LAYERS), table)


def named(details: list[Detail], layer: str) -> list[str]:
    infos = (detail["topologyInfo"] for detail in details)
    return [info["topologyName"] for info in infos if info["topologyLayer"] == layer]


def children(details: list[Detail], layer: str) -> list[str]:
    return [
        name
        for detail in details
        if detail["topologyInfo"]["topologyLayer"] == layer
        for name in detail["childTopologyNames"]
    ]


def lone(_: int) -> Mapping[str, str]:
    return {}


def pairs(number: int) -> Mapping[str, str]:
    return {"rack": f"r{number // 2}"}


def few_lone(number: int) -> Mapping[str, str]:
    """Leave every other node without a rack; the others are in 2,000 of them."""
    return {"rack": f"r{number // 10}"} if number % 2 else {}


@pytest.mark.parametrize("labels", [lone, pairs, few_lone])
def test_the_largest_tree_can_be_stored_and_has_all_domains_in_the_lists_of_their_parents(
    labels: Callable[[int], Mapping[str, str]],
) -> None:
    details = topology_status.detail_status(tree_of(MANY, labels))

    assert 0.7 * MOST_BYTES < len(msgspec.json.encode(details)) < MOST_BYTES
    assert named(details, "SpineLayer") == children(details, "ClusterTopologyLayer")
    assert named(details, "RackLayer") == children(details, "SpineLayer")
    assert 10 == len(named(details, "SpineLayer"))


def test_lone_nodes_are_left_out_first() -> None:
    details = topology_status.detail_status(tree_of(MANY, few_lone))

    racks = [name for name in named(details, "RackLayer") if name.startswith("r")]
    assert 2000 == len(racks)


def test_nodes_are_counted_whether_their_domain_is_listed_or_not() -> None:
    details = topology_status.detail_status(tree_of(MANY, lone))

    assert [MANY, 2000] == [detail["nodeNum"] for detail in details[:2]]


def test_a_layer_that_is_too_large_hides_those_below() -> None:
    tree = tree_of(MANY, lambda i: {"spine": f"s{i}", "rack": f"r{i}"})

    details = topology_status.detail_status(tree)

    assert [] == named(details, "RackLayer")
    assert named(details, "SpineLayer") == children(details, "ClusterTopologyLayer")


def test_the_condition_says_how_many_are_left_out() -> None:
    tree = tree_of(MANY, lone)
    listed = len(topology_status.detail_status(tree))

    message = topology_status.tree_in_use(tree, listed).message

    expected = (
        f"20000 nodes are in the tree; {20_011 - listed} of 20011 domains are left out of "
        "detailStatus, which would be too long to be stored"
    )
    assert expected == message


def test_a_tree_of_some_thousand_domains_is_listed_wholly() -> None:
    tree = tree_of(3000, lone)

    details = topology_status.detail_status(tree)

    assert 1 + 2 + 3000 == len(details)
    assert "3000 nodes are in the tree" == topology_status.tree_in_use(tree, len(details)).message
