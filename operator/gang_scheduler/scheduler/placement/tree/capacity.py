"""The number of members of one class that each domain can take, summed up the tree (roll-up).

With slices this is no plain sum: a domain of a sliced layer holds only whole slices. One domain may
also hold the tail, which is the short last slice. So each domain has two numbers, its capacity
without the tail and its capacity in addition to the tail, and both can be summed up exactly.
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

    `whole` is the capacity of a domain without the tail, and `beside_tail` the capacity that is
    left once the domain holds the tail.
    """

    whole: IntArray
    beside_tail: IntArray

    @property
    def loss(self) -> IntArray:
        """The capacity that each domain loses to the tail, up to 0; NEVER if the tail does not fit.

        A sum with NEVER may be lower than NEVER, and means the same.
        """
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
    capacities = [_node_capacity(slots, count, sizes[-1])]
    for depth in range(len(tree.levels) - 2, -1, -1):
        level, below = tree.levels[depth], tree.levels[depth + 1]
        first_child = np.searchsorted(below.starts, level.starts)
        of_children = capacities[-1], sizes[depth + 1]
        capacities.append(_domain_capacity(*of_children, first_child, count, sizes[depth]))
    return tuple(reversed(capacities))


def _node_capacity(slots: IntArray, count: int, size: int) -> Capacity:
    tail = count % size
    whole = slots - slots % size
    if not tail:
        return Capacity(whole, whole)
    left = slots - tail
    return Capacity(whole, np.where(left >= 0, left - left % size, NOT_EVEN_THE_TAIL))


def _domain_capacity(
    children: Capacity, small: int, first_child: IntArray, count: int, size: int
) -> Capacity:
    """Return the capacity of domains in slices of `size`, from the slices of their children."""
    room = np.add.reduceat(children.whole, first_child)
    beside = room
    if count % small:
        # The child whose capacity suffers least from the smaller tail takes it.
        beside = room + np.maximum.reduceat(children.loss, first_child)
    # Subtract the whole smaller slices that belong to the larger tail.
    left = beside - (count % size - count % small)
    return Capacity(
        whole=room - room % size,
        beside_tail=np.where(left >= 0, left - left % size, NOT_EVEN_THE_TAIL),
    )
