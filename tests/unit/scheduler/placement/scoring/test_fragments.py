"""Which of nodes that are equal otherwise come first: those whose use costs others least."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.model.layers import TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.placement.scoring import is_scarce
from gang_scheduler.scheduler.profile import PROFILES
from support import builders
from support.builders import gang, group, pod, snapshot
from support.call_counts import Calls, calls_of
from support.plan_reading import nodes_of
from support.topology_builders import BLOCK, SPINE, TREE_SPEC

TREES = (TREE_SPEC,)
GPU = "nvidia.com/gpu"


def at(name: str, block: str = "b0", spine: str = "s0", **has: Any) -> Node:
    labels = {"network/spine": spine, "network/block": block}
    return builders.node(name, labels=labels, **{"cpu": 8, "gpu": 8, **has})


def chosen(
    nodes: Sequence[Node],
    asks: Sequence[Pod],
    bound: Sequence[Pod] = (),
    trees: tuple[TreeSpec, ...] = TREES,
    strategy: str = "binpack",
) -> list[str]:
    waiting = [
        replace(gang(each.name, members=[each]), created_at=i) for i, each in enumerate(asks)
    ]
    found = nodes_of(schedule(snapshot(nodes, waiting, bound, trees), PROFILES[strategy]))
    return [found[each.name] for each in asks if each.name in found]


def whole(name: str = "p", node: str = "") -> Pod:
    return pod(name, cpu=1, gpu=8, node=node)


@pytest.mark.parametrize("strategy", ["binpack", "spread"])
def test_a_pod_without_a_gpu_goes_to_a_node_with_gpus_last(strategy: str) -> None:
    nodes = [at("a"), at("b"), at("c", gpu=0), at("d", gpu=0)]
    asks = [pod(f"p{i}", cpu=8) for i in range(3)]

    assert ["c", "d", "a"] == chosen(nodes, asks, strategy=strategy)
    assert ["c", "d", "a"] == chosen(nodes, asks, trees=(), strategy=strategy)


def test_a_node_with_gpus_comes_last_however_full_it_is() -> None:
    nodes = [at("a"), at("b", gpu=0)]

    assert ["b"] == chosen(nodes, [pod("p", cpu=1)], [pod("x", cpu=6, node="a")])


def test_a_pod_with_a_gpu_keeps_off_what_else_is_scarce() -> None:
    nodes = [at("a", extra={"rdma/hca": 1}), at("b")]

    assert ["b"] == chosen(nodes, [whole()])


def test_nodes_that_offer_the_same_are_filled_as_before() -> None:
    nodes = [at("a"), at("b")]

    assert ["b"] == chosen(nodes, [pod("p", cpu=1)], [pod("x", cpu=6, node="b")])


@pytest.mark.parametrize(
    ("resource", "scarce"),
    [
        (GPU, True),
        ("amd.com/gpu", True),
        ("rdma/hca", True),
        ("cpu", False),
        ("memory", False),
        ("pods", False),
        ("ephemeral-storage", False),
        ("hugepages-2Mi", False),
    ],
)
def test_what_is_scarce(resource: str, *, scarce: bool) -> None:
    assert scarce is is_scarce(resource)


def test_a_rack_that_is_broken_is_filled_up_before_another_one_is_broken() -> None:
    nodes = [at(f"{rack}{i}", f"b-{rack}") for rack in "abc" for i in range(3)]

    found = chosen(nodes, [whole(f"p{i}") for i in range(5)], [whole("x", node="b0")])

    assert ["b1", "b2", "a0", "a1", "a2"] == found


def test_of_racks_with_as_much_room_the_one_of_the_fuller_layer_above() -> None:
    racks = {"a": "s0", "b": "s1", "c": "s1", "d": "s0"}
    nodes = [at(f"{rack}{i}", f"b-{rack}", racks[rack]) for rack in "abcd" for i in range(2)]
    bound = [whole("x", node="c0"), whole("y", node="c1")]

    assert ["b0", "b1", "a0"] == chosen(nodes, [whole(f"p{i}") for i in range(3)], bound)


def test_a_node_outside_the_tree_breaks_nothing() -> None:
    nodes = [at("a"), builders.node("z", cpu=8, gpu=8)]

    assert ["z"] == chosen(nodes, [whole()])


def test_without_gpus_elsewhere_the_node_whose_gpus_are_taken() -> None:
    nodes = [at("a"), at("b")]
    bound = [pod("x", cpu=2, gpu=8, node="b"), pod("y", cpu=2, node="a")]

    assert ["b"] == chosen(nodes, [pod("p", cpu=1)], bound)


@pytest.mark.parametrize("layer", [BLOCK, SPINE])
def test_a_gang_without_gpus_gathers_off_the_nodes_with_gpus(layer: str) -> None:
    nodes = [
        *(at(f"a{i}", "b0", "s0") for i in range(2)),
        *(at(f"z{i}", "b1", "s1", gpu=0) for i in range(2)),
    ]
    request = TopologyRequest(must=(LayerRef(layer),))
    members = [pod(f"p{i}", cpu=8) for i in range(2)]
    made = group(gang("g", members=members), topology_request=request)

    found = nodes_of(schedule(snapshot(nodes, [made], (), TREES), PROFILES["binpack"]))

    assert {"z0", "z1"} == {*found.values()}


def test_a_gang_without_gpus_is_no_further_apart_for_that() -> None:
    nodes = [
        *(at(f"a{i}", "b0", "s0") for i in range(2)),
        at("z0", "b1", "s0", gpu=0),
        at("z1", "b2", "s0", gpu=0),
    ]
    request = TopologyRequest(must=(LayerRef(SPINE),))
    members = [pod(f"p{i}", cpu=8) for i in range(2)]
    made = group(gang("g", members=members), topology_request=request)

    found = nodes_of(schedule(snapshot(nodes, [made], (), TREES), PROFILES["binpack"]))

    assert {"a0", "a1"} == {*found.values()}


def test_names_decide_last() -> None:
    nodes = [at("n10"), at("n9"), at("n2", "b1")]

    assert ["n2", "n9", "n10"] == chosen(nodes, [whole(f"p{i}") for i in range(3)])


@pytest.mark.parametrize("seed", range(40))
def test_all_at_once_are_placed_as_one_by_one(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - nothing secret.
    nodes = [
        at(f"n{i}", f"b{dice.randrange(4)}", "s0", gpu=dice.choice((0, 8, 8))) for i in range(10)
    ]
    bound = [whole(f"x{i}", node=each.name) for i, each in enumerate(nodes) if dice.random() < 0.3]
    bound = [each for each in bound if dict(nodes[int(each.node[1:])].allocatable).get(GPU)]
    count = dice.randint(1, 6)
    asks = pod("p", cpu=dice.choice((8, 1)), gpu=dice.choice((0, 8)))
    members = [replace(asks, name=f"p{i}", uid=f"p{i}") for i in range(count)]
    together = snapshot(nodes, [gang("g", members=members)], bound, TREES)

    at_once = nodes_of(schedule(together, PROFILES["binpack"]))

    by_itself = chosen(nodes, members, bound)
    if at_once:
        assert Counter(at_once.values()) == Counter(by_itself)


def test_an_order_costs_no_call_for_each_node() -> None:
    def calls(size: int) -> Calls:
        nodes = [at(f"n{i}", f"b{i // 8}") for i in range(size)]
        return calls_of(lambda: chosen(nodes, [whole()]))

    few, many = calls(64), calls(512)

    ours = [name for name in many if name.startswith("scoring.")]
    assert ours
    assert all(many[name] == few[name] for name in ours)
