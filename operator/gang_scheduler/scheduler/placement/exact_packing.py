"""An exact search on small cases: some way to pack several classes on few nodes, if there is one.

Greedy packing can fail where members fit in another arrangement. On few nodes all arrangements
that matter can be tried. If there is a way, there is one that fills the first node most, then the
second, and so on: there every node takes as much as it can, and of nodes that are alike none takes
more than the one before it.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import IntArray
from gang_scheduler.scheduler.effort import Effort
from gang_scheduler.scheduler.placement.counting import Floors

MOST_NODES: Final = 12
MOST_MEMBERS: Final = 16
MOST_LOOKS: Final = 2_000
"""How many arrangements of single nodes are looked at before a case is given up."""

Counts = tuple[int, ...]


def pack(
    counts: Counts, slots: IntArray, requests: IntArray, free: IntArray, effort: Effort
) -> list[Counts] | None:
    """Return how many of each class go on each node, in the order of nodes.

    None if there is no way, or looks were used up before one was found. `counts` is by class,
    `slots` classes by nodes, `requests` classes by resources and `free` nodes by resources.
    """
    if not len(free):
        # Nor are there resources then that requests could be compared by.
        return None
    alike = np.concatenate([free, slots.T], axis=1).tolist()
    nodes = sorted(range(len(free)), key=lambda node: (alike.index(alike[node]), node))
    # The largest class first: it has the least choice.
    parts = (requests / free.max(axis=0, initial=1)).max(axis=1)
    classes = np.argsort(-parts, kind="stable")
    sizes = tuple(counts[each] for each in classes)
    search = _Search(slots[classes][:, nodes], requests[classes], free[nodes], sizes, effort)
    found = search.from_node(0, sizes, sizes)
    if found is None:
        return None
    columns = np.empty((len(classes), len(nodes)), dtype=np.int64)
    columns[np.ix_(classes, np.array(nodes))] = np.array(found, dtype=np.int64).T
    return [tuple(each) for each in columns.T.tolist()]


class _Search:
    """Depth first over the nodes; nodes that are alike follow each other."""

    def __init__(
        self, slots: IntArray, requests: IntArray, free: IntArray, counts: Counts, effort: Effort
    ) -> None:
        self._slots: list[list[int]] = slots.T.tolist()
        asked = requests.any(axis=0)
        self._requests: list[list[int]] = requests[:, asked].tolist()
        self._free: list[list[int]] = free[:, asked].tolist()
        self._effort = effort
        self._looks_left = MOST_LOOKS
        floors = Floors(requests, counts)
        places = floors.places(free.clip(min=0), slots)
        self._floors = [each.classes.tolist() for each in floors.floors]
        # The places of each floor on a node and all later ones.
        self._from: list[list[int]] = places[:, ::-1].cumsum(axis=1)[:, ::-1].T.tolist()
        self._dead: set[tuple[int, Counts, Counts]] = set()
        alike = range(len(self._free) - 1, 0, -1)
        unlike = (each for each in alike if not self._is_like_the_one_before(each))
        self._alike_from = next(unlike, 0)

    def from_node(self, node: int, left: Counts, most: Counts) -> list[Counts] | None:
        """Pack what is left on this node and the later ones; this one takes no more than `most`."""
        if not any(left):
            return [(0,) * len(left)] * (len(self._free) - node)
        if node == len(self._free) or self._is_hopeless(node, left):
            return None
        if not self._is_like_the_one_before(node):
            most = left
        key = node, left, min(most, left)
        if key in self._dead:
            return None
        classes = [each for each, slots in enumerate(self._slots[node]) if slots and left[each]]
        for here, _ in self._fillings(node, classes, left, self._free[node]):
            if not self._goes_on():
                return None
            if here > most or (self._are_alike_from(node) and not here[_first(left)]):
                continue
            rest = tuple(a - b for a, b in zip(left, here, strict=True))
            found = self.from_node(node + 1, rest, here)
            if found is not None:
                return [here, *found]
        self._dead.add(key)
        return None

    def _goes_on(self) -> bool:
        """Count an arrangement of a node; return whether there are looks left for it."""
        self._effort.spend(1)
        self._looks_left -= 1
        if self._looks_left <= 0:
            self._effort.cut()
        return self._looks_left > 0 and self._effort.may_go_on()

    def _is_hopeless(self, node: int, left: Counts) -> bool:
        for classes, places in zip(self._floors, self._from[node], strict=True):
            if sum([left[each] for each in classes]) > places:
                return True
        return False

    def _are_alike_from(self, node: int) -> bool:
        """Return whether all nodes from this one on are alike: no later one takes more."""
        return self._alike_from <= node

    def _is_like_the_one_before(self, node: int) -> bool:
        return (
            node > 0
            and self._free[node] == self._free[node - 1]
            and self._slots[node] == self._slots[node - 1]
        )

    def _fillings(
        self, node: int, classes: Sequence[int], left: Counts, free: Sequence[int]
    ) -> Iterator[tuple[Counts, Sequence[int]]]:
        """Yield how many of each class the node takes until no more fits, and what is free then."""
        fitting = [each for each in classes if _times(self._requests[each], free)]
        if not fitting:
            yield (0,) * len(left), free
            return
        first, others = fitting[0], fitting[1:]
        request, limit = self._requests[first], min(left[first], self._slots[node][first])
        for number in range(min(limit, _times(request, free)), -1, -1):
            rest = [a - number * b for a, b in zip(free, request, strict=True)]
            for found, unused in self._fillings(node, others, left, rest):
                if number == limit or not _times(request, unused):
                    yield (*found[:first], number, *found[first + 1 :]), unused


def _first(left: Counts) -> int:
    """Return the first class with members left."""
    return next(each for each, number in enumerate(left) if number)


def _times(request: Sequence[int], free: Sequence[int]) -> int:
    """Return how often a request fits, `MOST_MEMBERS` at the most."""
    times = MOST_MEMBERS
    for asked, there in zip(request, free, strict=True):
        if asked:
            times = min(times, there // asked)
    return max(times, 0)


def small(nodes: int, counts: Sequence[int]) -> bool:
    """Return whether a case is small enough to be searched."""
    return nodes <= MOST_NODES and sum(counts) <= MOST_MEMBERS
