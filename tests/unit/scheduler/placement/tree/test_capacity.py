"""What domains hold, in slices."""

import numpy as np

from gang_scheduler.model import topology
from gang_scheduler.scheduler.placement.tree import capacity
from support import topology_builders
from support.builders import snapshot
from support.topology_builders import TREE_SPEC, TWELVE


def rolled(slots: dict[int, int], count: int, sizes: tuple[int, ...]) -> list[list[int]]:
    """Return what each level holds without the tail, from the cluster down to the blocks."""
    table = snapshot(topology_builders.nodes(TWELVE)).nodes
    tree = topology.build(TREE_SPEC, table)
    column = np.array([slots.get(number, 0) for number in range(12)])
    found = capacity.roll_up(column, count, sizes, tree)
    return [level.whole.tolist() for level in found[:-1]]


def test_what_nodes_offer_adds_up() -> None:
    one_each = dict.fromkeys(range(12), 1)

    assert [[12], [5, 4, 3], [3, 2, 2, 2, 3]] == rolled(one_each, 4, (1, 1, 1, 1))


def test_a_sliced_layer_holds_whole_slices_only() -> None:
    one_each = dict.fromkeys(range(12), 1)

    assert [[10], [4, 4, 2], [2, 2, 2, 2, 2]] == rolled(one_each, 4, (2, 2, 2, 1))


def test_slices_in_slices() -> None:
    three_each = dict.fromkeys(range(12), 3)

    # Two a node, so six in a block of three nodes: one slice of four there.
    assert [[20], [8, 8, 4], [4, 4, 4, 4, 4]] == rolled(three_each, 8, (4, 4, 4, 2))


def test_the_tail_takes_the_place_that_costs_least() -> None:
    table = snapshot(topology_builders.nodes(TWELVE)).nodes
    tree = topology.build(TREE_SPEC, table)
    slots = np.array([2, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0])

    blocks = capacity.roll_up(slots, 5, (2, 2, 2, 1), tree)

    # Three in block-0: a slice and the tail. Two in block-1: a slice, or the tail.
    assert [2, 2, 0, 0, 0] == blocks[2].whole.tolist()
    assert [2, 0, -1, -1, -1] == blocks[2].beside_tail.tolist()
    assert [4] == blocks[0].beside_tail.tolist()
    assert [True] == blocks[0].holds(5, 2).tolist()
