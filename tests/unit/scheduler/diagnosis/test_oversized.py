"""What no node has is told, and only that."""

from typing import Any

import pytest

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Oversized, Shortage, Unmatched
from gang_scheduler.scheduler import diagnosis
from gang_scheduler.scheduler.filters import node_affinity, resources, taints
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import GPU, node, pod

BINPACK = PROFILES["binpack"]
SHORT = Shortage(resources.obstacle, 2, (("cpu", 1000),))


@pytest.mark.parametrize(
    ("asks", "expected"),
    [
        ({"cpu": 4}, ()),
        ({"cpu": 5}, (Oversized("cpu", 5000, 4000, 8000),)),
        ({"cpu": 4, "gpu": 1}, (Oversized(GPU, 1),)),
    ],
)
def test_a_resource_is_oversized_if_no_node_that_may_be_used_has_it(
    asks: dict[str, Any], expected: tuple[Oversized, ...]
) -> None:
    nodes = NodeTable([node("n1", cpu=4), node("n2", cpu=8, unschedulable=True)])

    found = diagnosis.with_oversized(SHORT, pod("a-0", **asks).pod_class, nodes, BINPACK)

    assert found is not None
    assert expected == found.oversized


def test_what_is_short_of_nothing_is_not_looked_at() -> None:
    tainted = Shortage(taints.obstacle, 1)

    assert tainted is diagnosis.with_oversized(
        tainted, pod("a-0").pod_class, NodeTable([]), BINPACK
    )


LABELLED = [
    node("n1", labels={"gpu": "a100", "example.com/pool": "training", "zone": "eu-west-1a"}),
    node("n2", labels={"gpu": "h100-80gb", "zone": "eu-west-1b"}),
]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"gpu": "a100"}, ()),
        ({"gpu": "A100"}, (Unmatched("gpu", "A100", "gpu=a100"),)),
        ({"gpu": "a-100"}, (Unmatched("gpu", "a-100", "gpu=a100"),)),
        ({"gpu": "h100-80GB"}, (Unmatched("gpu", "h100-80GB", "gpu=h100-80gb"),)),
        ({"gpu": "b200"}, (Unmatched("gpu", "b200"),)),
        ({"zone": "eu-west-1"}, (Unmatched("zone", "eu-west-1", "zone=eu-west-1b"),)),
        ({"GPU": "a100"}, (Unmatched("GPU", "a100", "gpu"),)),
        ({"example.com/pools": "x"}, (Unmatched("example.com/pools", "x", "example.com/pool"),)),
        (
            {"example.com/pool": "trainig"},
            (Unmatched("example.com/pool", "trainig", "example.com/pool=training"),),
        ),
        ({"rack": "r1"}, (Unmatched("rack", "r1"),)),
        ({"gpu": "a100", "zone": "us"}, (Unmatched("zone", "us"),)),
        ({"a": "1", "b": "2", "c": "3"}, (Unmatched("a", "1"), Unmatched("b", "2"))),
        # Each node has one of the labels, and none has both: none of them is wrong.
        ({"gpu": "a100", "zone": "eu-west-1b"}, ()),
    ],
)
def test_a_label_that_no_node_has_is_named(
    selector: dict[str, str], expected: tuple[Unmatched, ...]
) -> None:
    asked = pod("a-0", selector=selector).pod_class
    nodes = NodeTable(LABELLED)

    found = diagnosis.with_oversized(Shortage(node_affinity.obstacle, 2), asked, nodes, BINPACK)

    assert found is not None
    assert expected == found.unmatched


def test_of_many_values_none_is_said_to_be_meant() -> None:
    nodes = NodeTable([node(f"n{i}", labels={"host": f"n{i}"}) for i in range(300)])
    asked = pod("a-0", selector={"host": "n3x"}).pod_class

    assert (Unmatched("host", "n3x"),) == diagnosis.unmatched(asked, nodes)
