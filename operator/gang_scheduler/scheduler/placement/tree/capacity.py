"""How many members of one class each domain can take, slices and all: the roll-up.

With slices capacity is no plain sum: a domain of a sliced layer holds whole slices only, except for
the one domain that takes the short last slice, the tail. So two numbers are kept for a domain, its
capacity without the tail and its capacity beside the tail, and both roll up exactly.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.topology import Topology

NOT_EVEN_THE_TAIL: Final = -1
NEVER: Final = -(2**62)


class Capacity(NamedTuple):
    """The capacity of every domain of one level, in members of whole slices.

    `whole` is what fits without the tail, `beside_tail` what fits beside the tail.
    """

    whole: IntArray
    beside_tail: IntArray

    @property
    def loss(self) -> IntArray:
        """What the tail costs each domain, at most 0; NEVER and less where it does not fit."""
        lost: IntArray = np.where(self.beside_tail >= 0, self.beside_tail - self.whole, NEVER)
        return lost

    def holds(self, count: int, size: int) -> BoolArray:
        """Return the domains that can take `count` members in slices of `size`."""
        return self.beside_tail >= count - count % size


def roll_up(
    slots: IntArray, count: int, sizes: Sequence[int], tree: Topology
) -> tuple[Capacity, ...]:
    """Return the capacity of every level, from the cluster down, for `count` members.

    `slots` are by place in the tree, which must have nodes; `sizes` are by depth.
    """
    capacities = [_of_nodes(slots, count, sizes[-1])]
    for depth in range(len(tree.levels) - 2, -1, -1):
        level, below = tree.levels[depth], tree.levels[depth + 1]
        first_child = np.searchsorted(below.starts, level.starts)
        of_children = capacities[-1], sizes[depth + 1]
        capacities.append(_of_parents(*of_children, first_child, count, sizes[depth]))
    return tuple(reversed(capacities))


def _of_nodes(slots: IntArray, count: int, size: int) -> Capacity:
    tail = count % size
    whole = slots - slots % size
    if not tail:
        return Capacity(whole, whole)
    left = slots - tail
    return Capacity(whole, np.where(left >= 0, left - left % size, NOT_EVEN_THE_TAIL))


def _of_parents(
    children: Capacity, small: int, first_child: IntArray, count: int, size: int
) -> Capacity:
    """Return the capacity of domains in slices of `size`, from the slices of their children."""
    room = np.add.reduceat(children.whole, first_child)
    beside = room
    if count % small:
        # The child that loses the least by the smaller tail takes it.
        beside = room + np.maximum.reduceat(children.loss, first_child)
    # Without the whole smaller slices that are a part of the larger tail.
    left = beside - (count % size - count % small)
    return Capacity(
        whole=room - room % size,
        beside_tail=np.where(left >= 0, left - left % size, NOT_EVEN_THE_TAIL),
    )
