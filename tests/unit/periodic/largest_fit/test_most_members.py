"""How many members of a shape one domain takes is what would be placed there."""

from dataclasses import replace

from gang_scheduler.model.layers import CLUSTER_LAYER, NODE_LAYER
from gang_scheduler.model.snapshot import Nominated
from gang_scheduler.periodic.largest_fit import most_members
from gang_scheduler.scheduler.profile import PROFILES
from support import builders
from support.topology_builders import BLOCK, BLOCK_KEY, SPINE, SPINE_KEY, TREE_SPEC

BINPACK = PROFILES["binpack"]
NODES = tuple(
    builders.node(
        f"n{number}", cpu=8, labels={SPINE_KEY: f"s{number // 4}", BLOCK_KEY: f"b{number // 2}"}
    )
    for number in range(8)
)


def test_each_layer_has_its_own_number() -> None:
    taken = [builders.pod("p", node="n0", cpu=4)]
    snapshot = replace(builders.snapshot(NODES, bound=taken), tree_specs=(TREE_SPEC,))
    found = most_members(builders.pod_class(cpu=3), snapshot, BINPACK)

    assert {CLUSTER_LAYER: 15, SPINE: 8, BLOCK: 4, NODE_LAYER: 2} == found


def test_without_a_tree_there_are_the_nodes_and_the_cluster() -> None:
    found = most_members(builders.pod_class(cpu=8), builders.snapshot(NODES), BINPACK)

    assert {CLUSTER_LAYER: 8, NODE_LAYER: 1} == found


def test_reserved_room_is_taken() -> None:
    pod = builders.pod("p", nominated="n0", cpu=8)
    snapshot = builders.snapshot(NODES)
    snapshot = replace(snapshot, nominated=(Nominated(pod, pod.gang, 0),))

    assert 7 == most_members(builders.pod_class(cpu=8), snapshot, BINPACK)[CLUSTER_LAYER]


def test_a_cluster_without_nodes_has_no_layer() -> None:
    assert {} == most_members(builders.pod_class(), builders.snapshot(()), BINPACK)
