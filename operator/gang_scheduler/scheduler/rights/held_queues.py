"""The queues that have gangs on nodes, as columns: which of them a claim need not look into.

A claim that may evict looks for candidates queue by queue, and most queues are ruled out by what
holds for all of their gangs: a fence or a veto on the way, how long the oldest of them has run, and
the lowest priority. All queues are judged at once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.scheduler.quota.trees import NO_ROW, Trees
from gang_scheduler.scheduler.rights.claims import Held
from gang_scheduler.scheduler.rights.permits import Limits
from gang_scheduler.scheduler.rights.rights import Rights


class HeldQueues:
    """The gangs that may go at all, by the rows of their queues, as of the snapshot.

    Places are those of the queues in the order in which their first gangs came. Columns, one entry
    a place: `rows`, and the `lowest` priority of any gang there.
    """

    def __init__(self, gangs: Iterable[Held], trees: Trees, limits: Limits) -> None:
        self._trees = trees
        self.by_row: dict[int, list[Held]] = {}
        for each in gangs:
            self.by_row.setdefault(trees.rows[each.ref], []).append(each)
        self.rows: IntArray = np.array([*self.by_row], dtype=np.int64)
        self.lowest = _column(self.by_row, lambda each: min(each.priority, each.pod_priority))
        oldest = _column(self.by_row, lambda each: each.known.started_at)
        self._gates = np.array([_gate(trees, row) for row in self.by_row], dtype=np.int64)
        self._gate_ends = np.array([trees.ends[gate] for gate in self._gates], dtype=np.int64)
        self._may_have_run = limits.now - oldest >= _least_run_times(trees, self.by_row, limits)
        self._open_to: dict[int, BoolArray] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def reached(self, rights: Rights, worth: BoolArray) -> list[int]:
        """Return the rows of queues in which a claim may find candidates, in order.

        `worth` is the mask of the other queues that use more than promised of what lacks.
        """
        own = self._trees.rows.get(rights.claim.ref)
        if own is None:
            return []
        here = self.rows == own
        found = worth & ~here & (self.lowest <= rights.highest_reached(within=False))
        found |= here & (self.lowest <= rights.highest_reached(within=True))
        if not found.any():
            return []
        rows: list[int] = self.rows[found & self.open_to(own)].tolist()
        return rows

    def open_to(self, own: int) -> BoolArray:
        """Return the mask of the queues from which any gang may go for a queue, by its row.

        Neither a fence nor a veto forbids it, and some gang there may have run for long enough.
        """
        if own not in self._open_to:
            self._open_to[own] = self._found_open(own)
        return self._open_to[own]

    def _found_open(self, own: int) -> BoolArray:
        way, ends = self._trees.ways[own], self._trees.ends
        shared = np.sum([(row <= self.rows) & (self.rows < ends[row]) for row in way], axis=0)
        # Nothing but the queue itself counts where it is the claim's own, or above it.
        level = np.where(shared < len(way), shared, 0)
        found: BoolArray = self._may_have_run[level, np.arange(len(self))]
        top = _top(self._trees, way)
        if top != NO_ROW:
            found &= (top <= self.rows) & (self.rows < ends[top])
        inside = (self._gates <= own) & (own < self._gate_ends)
        found &= inside | (self._gates == NO_ROW)
        return found


def _column(by_row: Mapping[int, Sequence[Held]], figure: Callable[[Held], int]) -> IntArray:
    """Return the least figure of any gang, queue by queue."""
    return np.array([min(map(figure, gangs)) for gangs in by_row.values()], dtype=np.int64)


def _gate(trees: Trees, row: int) -> int:
    """Return the queue that a gang must be below, too, to evict from another; NO_ROW for none.

    It is the lowest one on the way to the root that nothing from outside may evict from.
    """
    closed = (each for each in trees.ways[row][::-1] if not trees.queues[each].evictions.may_lose)
    return next(closed, NO_ROW)


def _top(trees: Trees, way: Sequence[int]) -> int:
    """Return the highest queue that fences let a claim look into; NO_ROW without any fence."""
    return next((row for row in way[::-1] if trees.queues[row].evictions.fence), NO_ROW)


def _least_run_times(trees: Trees, rows: Iterable[int], limits: Limits) -> IntArray:
    """Return how long queues ask that gangs may run, levels by places.

    By how many queues a claim and a queue are both in: of none, that is in another tree, the queue
    itself counts alone, and of others those below the child where the two ways part.
    """
    asked = [[trees.queues[each].evictions.min_runtime for each in trees.ways[row]] for row in rows]
    levels = max(map(len, asked), default=0) + 1
    below = [
        [way[-1], *(max((*way[level + 1 :], way[-1])) for level in range(1, levels))]
        for way in asked
    ]
    table = np.array(below, dtype=np.int64).reshape(len(asked), levels).T
    found: IntArray = np.minimum(table, limits.max_min_runtime_seconds)
    return found
