"""What a preemptor needs of the nodes at least, by plain counting, as victims leave some of them.

However members are placed, they need so many places for their smallest requests
(`placement.counting`). Only requests count here, and which nodes are open to the members.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.scheduler.placement.counting import MOST, Floors
from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY

Shares = NDArray[np.float64]
"""Parts of places."""
NONE: Final = 1e-9
"""Rounding errors are less than this."""


class Needs:
    """Places for the floors of a preemptor on the nodes of `inside`; victims are on `rows` only.

    `open_to` is floors by nodes. Places on nodes that are not among `rows` are counted once.
    """

    def __init__(
        self, floors: Floors, open_to: BoolArray, free: IntArray, inside: BoolArray, rows: IntArray
    ) -> None:
        self.rows = rows
        self.free = free[rows]
        self._least = floors.least
        others = inside.copy()
        others[rows] = False
        there = np.flatnonzero(others & open_to.any(axis=0))
        elsewhere = places(floors.least, free[there], open_to[:, there]).sum(axis=1)
        self.needed: IntArray = floors.needed - elsewhere
        self._open = open_to[:, rows]

    def places(self, free: IntArray) -> IntArray:
        """Return the places of each floor on each of the rows, with so much free on the rows."""
        return places(self._least, free, self._open)

    def parts(self, used: IntArray) -> Shares:
        """Return usage as parts of each floor's request; 0 for resources that it does not request.

        `used` is units by rows by resources; the result is floors by units by rows by resources.
        """
        least = self._least[:, np.newaxis, np.newaxis]
        found: Shares = np.where(least > 0, used[np.newaxis] / np.maximum(least, 1), 0)
        return found

    def lacking(self, there: IntArray) -> IntArray:
        """Return how many places each floor lacks; 0 or less where there are enough."""
        lacking: IntArray = self.needed - there.sum(axis=1)
        return lacking

    def gains(
        self, floor: int, free: IntArray, there: IntArray, at_best: IntArray, parts: Shares
    ) -> Shares:
        """Return for each unit a bound on the places of a floor that its eviction makes.

        `parts` is what each unit frees, as parts of the request. Units together make no more places
        than the sum of their bounds, and on no row more than up to what there is `at_best`.
        """
        request = self._least[floor]
        free_parts = np.where(request > 0, free / np.maximum(request, 1), np.inf)
        # By the resource that is shortest now: it bounds the places, whatever else is freed.
        shortest = free_parts.argmin(axis=1)
        lines = np.arange(len(free))
        begun = (free_parts[lines, shortest] - there[floor]).clip(min=0)
        left = parts[:, lines, shortest]
        most = at_best[floor] - there[floor]
        gains: Shares = np.where(left > 0, np.minimum(begun + left, most), 0).sum(axis=1)
        return gains


def places(least: IntArray, free: IntArray, open_to: BoolArray) -> IntArray:
    """Return the places of each floor on nodes, floors by nodes."""
    asked = least > 0
    times = free[np.newaxis] // np.where(asked, least, 1)[:, np.newaxis]
    fewest = np.where(asked[:, np.newaxis], times, MOST).min(axis=2).clip(0, MOST)
    found: IntArray = np.where(open_to, fewest, 0)
    return found


def cheapest_share(weights: Sequence[int], gains: Sequence[float], needed: int) -> int:
    """Return the least weight that gains what is needed, if parts of choices could be taken.

    Where all together gain too little, the weight of all. Plain Python is several times faster than
    NumPy for a few numbers.
    """
    line = sorted([(w / g, w, g) for w, g in zip(weights, gains, strict=True) if w and g > NONE])
    lacking = needed - sum([g for w, g in zip(weights, gains, strict=True) if not w])
    total = 0.0
    for _, weight, gain in line:
        if lacking <= NONE:
            break
        total += weight * min(1.0, lacking / gain)
        lacking -= gain
    return max(0, math.ceil(total - NONE * max(1.0, total)))


def lowest_that_suffice(values: Sequence[int], gains: Sequence[float], needed: int) -> int:
    """Return up to which value choices gain what is needed; the highest if all gain too little."""
    highest = NO_PRIORITY
    lacking: float = needed
    for value, gain in sorted(zip(values, gains, strict=True)):
        if lacking <= NONE:
            break
        highest = value
        lacking -= gain
    return highest
