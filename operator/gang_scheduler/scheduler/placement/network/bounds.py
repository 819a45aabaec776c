"""What an area can take of several classes at most, by plain counting (`counting`)."""

from collections.abc import Sequence

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.scheduler.placement.counting import Floors
from gang_scheduler.scheduler.placement.network.class_seating import (
    Area,
    ClassMembers,
    ClassSeating,
)


class Bounds:
    """Places for the floors of some classes, in every domain of an area.

    `offered` is what each place in the tree offers to each class, classes by places.
    """

    def __init__(
        self, by_class: Sequence[ClassMembers], area: Area, offered: IntArray, seating: ClassSeating
    ) -> None:
        self._tree = area.tree
        self._free = seating.trial.free[area.tree.rows]
        self._offered = offered
        requests = np.array([seating.request(class_members) for class_members in by_class])
        self._asked = requests.any(axis=0)
        self._floors = Floors(requests, [len(class_members) for class_members in by_class])
        self._places: IntArray = np.zeros((len(self._floors.needed), len(area.open)), np.int64)
        there = np.flatnonzero(area.open)
        self._places[:, there] = self._floors.places(self._free[there], offered[:, there])

    def holding(self, depth: int) -> BoolArray:
        """Return the domains of a level that have places enough."""
        starts = self._tree.levels[depth].starts
        together = np.add.reduceat(self._places, starts, axis=1)
        holds: BoolArray = np.all(together >= self._floors.needed[:, np.newaxis], axis=0)
        return holds

    def allow(self, area: Area) -> bool:
        """Return whether a part of the area has places enough."""
        return bool((self._places[:, area.open].sum(axis=1) >= self._floors.needed).all())

    def fewest(self, depth: int, area: Area) -> int:
        """Return how many domains of a level the classes need at least, in a part of the area."""
        places = np.where(area.open, self._places, 0)
        by_domain = np.add.reduceat(places, self._tree.levels[depth].starts, axis=1)
        held = np.cumsum(-np.sort(-by_domain, axis=1), axis=1)
        return 1 + int((held < self._floors.needed[:, np.newaxis]).sum(axis=1).max())

    def likeness(self, area: Area) -> bytes:
        """Return a key that areas share if their nodes are alike, one by one, in any order."""
        columns = [self._free[area.open][:, self._asked].T, self._offered[:, area.open]]
        nodes = np.concatenate(columns)
        return nodes[:, np.lexsort(nodes)].tobytes()
