"""Slots of nodes on which nothing is assumed, kept from cycle to cycle.

They only save work. An answer is dropped once the node, its pools, or the devices taken from them
have changed.
"""

from collections.abc import Iterable
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import IntArray, NodeTable
from gang_scheduler.scheduler.devices.allocated_devices import Taken
from gang_scheduler.scheduler.devices.outcomes import Outcome
from gang_scheduler.scheduler.devices.pools import Pools

UNKNOWN: Final = -1
MOST_OF_A_NODE: Final = 64
"""At most this many sets of freed claims are remembered for a node."""


class KnownSlots:
    """The number of members with the same needs that each node has devices for, or what it lacks.

    They hold for one table of nodes, its pools and the devices taken. Only the table's list of
    nodes is kept, to compare it with later tables, and not the values cached in it.
    """

    def __init__(self, nodes: NodeTable, pools: Pools, taken: Taken) -> None:
        self._nodes, self._pools, self._taken = nodes.listed, pools, taken
        self.slots: IntArray = np.full(len(nodes), UNKNOWN, dtype=np.int64)
        self.lacks: dict[int, Outcome | None] = {}
        self._once_free: dict[int, dict[tuple[str, ...], int]] = {}

    def slots_of(self, row: int, freed: tuple[str, ...]) -> int:
        """Return the slots of a node once these claims are free; UNKNOWN if they are not known."""
        if not freed:
            return int(self.slots[row])
        return self._once_free.get(row, {}).get(tuple(sorted(freed)), UNKNOWN)

    def note(self, row: int, freed: tuple[str, ...], slots: int) -> None:
        """Keep the slots that a node has once these claims are free."""
        if not freed:
            self.slots[row] = slots
            return
        of_node = self._once_free.setdefault(row, {})
        if len(of_node) >= MOST_OF_A_NODE:
            of_node.clear()
        of_node[tuple(sorted(freed))] = slots  # Whichever pods leave first.

    def updated_for(self, nodes: NodeTable, pools: Pools, taken: Taken) -> "KnownSlots":
        """Return the slots that still hold for changed nodes, pools, or taken devices."""
        if nodes.listed is self._nodes and pools is self._pools and taken is self._taken:
            return self
        after = KnownSlots(nodes, pools, taken)
        by_slices, by_claims = pools.differs_in(self._pools), taken.differs_in(self._taken)
        if by_slices is None or by_claims is None:
            return after
        by_claim = (pools.node_of(each) for each in by_claims)
        if nodes.listed is self._nodes:
            after.slots, after.lacks = self.slots.copy(), dict(self.lacks)
            after._once_free = dict(self._once_free)
        else:
            was = nodes.rows_in(self._nodes)
            kept = np.flatnonzero(was >= 0)
            after.slots[kept] = self.slots[was[kept]]
            now = dict(zip(was[kept].tolist(), kept.tolist(), strict=True))
            after.lacks = {now[row]: each for row, each in self.lacks.items() if row in now}
            of_freed = self._once_free.items()
            after._once_free = {now[row]: each for row, each in of_freed if row in now}
        after._drop(name for names in (by_slices, by_claim) for name in names)
        return after

    def _drop(self, names: Iterable[str]) -> None:
        for row in (self._nodes.rows[name] for name in names if name in self._nodes.rows):
            self.slots[row] = UNKNOWN
            self.lacks.pop(row, None)
            self._once_free.pop(row, None)
