"""The least cost of clearing one more slot on each node, for all nodes at once, by counting.

Choosing the victims on a node is slow, and few nodes of a large cluster can be the cheapest. So
nodes are looked at in the order of these bounds, until no other node can cost less.
"""

from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.scheduler.preemption.eviction_units import NO_PRIORITY
from gang_scheduler.scheduler.preemption.preemptor import Shares

PRIORITIES, NUMBER = "priorities", "number"
OVER, BROKEN, WORK, PODS = "over", "broken", "work", "pods"
NO_ROWS: Final[IntArray] = np.zeros(0, dtype=np.int64)
MOST_PAIRS: Final = 200_000
"""The most pairs of nodes with a common gang that are kept.

With more pairs, clearing any node counts as a possible gain for every other node.
"""
ROUNDED: Final = 1e-4
"""Rounding errors of small sums are less than this."""


class Columns(NamedTuple):
    """The units that may leave each node: single pods, or all pods of a gang, evicted as a whole.

    `places` are indexes of pods among all potential victims; for a gang that is evicted as a whole,
    the index of one of its pods. `rows` are node rows, -1 for none. `used` is the room that is
    freed there, and `priorities` is the lowest priority that each can count with. The others are
    the least that each loses: `over` in pods beyond budgets, `broken` in whole gangs, `work` in
    pod-seconds, and `pods` in pods.
    """

    places: IntArray
    rows: IntArray
    gangs: IntArray
    used: IntArray
    priorities: IntArray
    over: Shares
    broken: Shares
    work: Shares
    pods: Shares


class Least(NamedTuple):
    """Bounds for some nodes: priority, pods beyond budgets, and gangs, work and pods lost."""

    priorities: IntArray
    over: IntArray
    broken: IntArray
    work: IntArray
    pods: IntArray


class _Line(NamedTuple):
    """All pods row by row, each row in some order, and the usage of a resource by each pod."""

    order: IntArray
    used: IntArray


class LeastCosts:
    """The bounds for the nodes of a cycle. They hold as long as pods only leave."""

    def __init__(self, columns: Columns, nodes: int) -> None:
        there = np.flatnonzero(columns.rows >= 0)
        self._places: IntArray = columns.places[there]
        self._columns = Columns(
            self._places,
            columns.rows[there],
            columns.gangs[there],
            columns.used[there],
            columns.priorities[there],
            columns.over[there],
            columns.broken[there],
            columns.work[there],
            columns.pods[there],
        )
        rows = np.sort(self._columns.rows)
        self._firsts: IntArray = np.searchsorted(rows, np.arange(nodes))
        self._weights = {
            OVER: self._columns.over,
            BROKEN: self._columns.broken,
            WORK: self._columns.work,
            PODS: self._columns.pods,
            NUMBER: np.ones(len(there)),
        }
        # Rounding never lifts a bound above a whole number of pod-seconds, and rarely lowers it.
        self._rounded_work = max(0.5, float(columns.work.sum()) * 1e-12)
        self._lines: dict[tuple[str, int | None], _Line] = {}
        self._largest = np.zeros((nodes, self._columns.used.shape[1]), dtype=np.int64)
        """The usage of the gang with the largest part of a node, by resource."""
        self._beside: tuple[IntArray, IntArray] | None = None
        """Pairs of rows on which the same gang has pods."""
        self._find_gangs(nodes)

    def _find_gangs(self, nodes: int) -> None:
        """Record the resources that each gang uses on each node, and the nodes that share gangs."""
        gangs, rows = self._columns.gangs, self._columns.rows
        pairs, inverse = np.unique(gangs * nodes + rows, return_inverse=True)
        used = np.zeros((len(pairs), self._largest.shape[1]), dtype=np.int64)
        np.add.at(used, inverse, self._columns.used)
        of_gang, on_row = pairs // nodes, pairs % nodes
        np.maximum.at(self._largest, on_row, used)
        _, firsts, sizes = np.unique(of_gang, return_index=True, return_counts=True)
        if int((sizes * sizes).sum()) > MOST_PAIRS:
            return
        spread = sizes > 1
        parts = [
            on_row[at : at + size] for at, size in zip(firsts[spread], sizes[spread], strict=True)
        ]
        ones = [np.repeat(each, len(each)) for each in parts]
        others = [np.tile(each, len(each)) for each in parts]
        both = np.unique(
            np.concatenate([NO_ROWS, *ones]) * nodes + np.concatenate([NO_ROWS, *others])
        )
        one, other = both // nodes, both % nodes
        self._beside = one[one != other], other[one != other]

    def most_gained(
        self, rows: IntArray, request: IntArray, needed: IntArray, at_best: IntArray
    ) -> IntArray:
        """Return for each of some node rows the most slots gained by clearing one slot there.

        `needed` (rows, resources) must be freed for that slot. `at_best` is the number of slots
        that each node gains if all pods leave that may. Pods that need not leave are put back, so
        the surplus that is freed on the node itself is less than one gang uses there.
        """
        asked = np.flatnonzero(request)
        parts = -(-self._largest[np.ix_(rows, asked)] // request[asked])
        own = np.where(needed[:, asked] > 0, parts, 1).max(axis=1, initial=1)
        found: IntArray = np.minimum(own, at_best[rows])
        if self._beside is None:
            return found + int(at_best.sum())
        one, other = self._beside
        elsewhere = np.bincount(one, at_best[other], minlength=len(at_best))
        return found + elsewhere[rows].astype(np.int64)

    def least(self, rows: IntArray, needed: IntArray, remaining: BoolArray) -> Least:
        """Return the bounds for some rows, if at least the `needed` amounts must be freed on each.

        `needed` has the shape (rows, resources); pods that are not `remaining` free nothing.
        """
        left = remaining[self._places]
        short = np.flatnonzero((needed > 0).any(axis=0)).tolist() or [0]
        bounds = [self._by(resource, rows, needed, left) for resource in short]
        return Least(*(np.maximum.reduce(each) for each in zip(*bounds, strict=True)))

    def _by(self, resource: int, rows: IntArray, needed: IntArray, left: BoolArray) -> Least:
        """Return the bounds that follow from the amount needed of one resource."""
        starts, wanted = self._firsts[rows], needed[:, resource].clip(min=0)
        line = self._line(PRIORITIES, resource)
        at, _ = _reached(line.used * left[line.order], starts, wanted)
        priorities = self._columns.priorities[line.order][at]
        # At least this many pods must leave, however little each costs.
        number = np.ceil(self._in_parts(NUMBER, resource, left, starts, wanted) - ROUNDED)
        over, broken, work, pods = (
            np.maximum(
                self._in_parts(kind, resource, left, starts, wanted),
                self._of_so_many(kind, left, starts, number.astype(np.int64)),
            )
            for kind in (OVER, BROKEN, WORK, PODS)
        )
        return Least(
            np.where(wanted > 0, priorities, NO_PRIORITY),
            np.ceil(over - ROUNDED).astype(np.int64),
            np.ceil(broken - ROUNDED).astype(np.int64),
            np.ceil(work - self._rounded_work).clip(min=0).astype(np.int64),
            np.ceil(pods - ROUNDED).astype(np.int64),
        )

    def _in_parts(
        self, kind: str, resource: int, left: BoolArray, starts: IntArray, wanted: IntArray
    ) -> Shares:
        """Return the least loss of a kind for the wanted amounts, if parts of pods could leave."""
        line = self._line(kind, resource)
        used = line.used * left[line.order]
        at, part = _reached(used, starts, wanted)
        weights = np.where(used > 0, self._weights[kind][line.order], 0)
        sums = np.concatenate([[0], np.cumsum(weights)])
        found: Shares = sums[at] - sums[starts] + weights[at] * part
        return found.clip(min=0)

    def _of_so_many(self, kind: str, left: BoolArray, starts: IntArray, number: IntArray) -> Shares:
        """Return the least loss of a kind if this many pods of each node leave."""
        order = self._line(kind, None).order
        there = left[order]
        at, _ = _reached(there.astype(np.int64), starts, number)
        sums = np.concatenate([[0], np.cumsum(np.where(there, self._weights[kind][order], 0))])
        found: Shares = sums[at + 1] - sums[starts]
        return np.where(number > 0, found, 0)

    def _line(self, kind: str, resource: int | None) -> _Line:
        """Return the pods of each row, the pods with the least loss for the freed amount first.

        Without a resource, the pods with the least loss come first.
        """
        if (kind, resource) not in self._lines:
            columns = self._columns
            weights = columns.priorities if kind == PRIORITIES else self._weights[kind]
            used = np.ones_like(columns.rows) if resource is None else columns.used[:, resource]
            dear = weights if kind == PRIORITIES else weights / np.maximum(used, 1)
            order = np.lexsort((np.where(used > 0, dear, np.inf), columns.rows))
            self._lines[kind, resource] = _Line(order, used[order])
        return self._lines[kind, resource]


def _reached(used: IntArray, starts: IntArray, wanted: IntArray) -> tuple[IntArray, Shares]:
    """Return the pod that completes the needed amount on each node, and its needed part.

    Pods are counted from the first one of each node on.
    """
    sums = np.concatenate([[0], np.cumsum(used)])
    targets = sums[starts] + wanted
    at = (np.searchsorted(sums, targets) - 1).clip(0, len(used) - 1)
    part: Shares = (targets - sums[at]) / np.maximum(used[at], 1)
    return at, part
