"""What no node has is told, and only that."""

from typing import Any

import pytest

from gang_scheduler.model.nodes import NodeTable
from gang_scheduler.model.plan import Obstacle, Oversized, Shortage
from gang_scheduler.scheduler import oversized
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import GPU, node, pod

BINPACK = PROFILES["binpack"]
SHORT = Shortage(Obstacle.RESOURCES, 2, (("cpu", 1000),))


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

    found = oversized.told(SHORT, pod("a-0", **asks).pod_class, nodes, BINPACK)

    assert found is not None
    assert expected == found.oversized


def test_what_is_short_of_nothing_is_not_looked_at() -> None:
    tainted = Shortage(Obstacle.TAINTS, 1)

    assert tainted is oversized.told(tainted, pod("a-0").pod_class, NodeTable([]), BINPACK)
