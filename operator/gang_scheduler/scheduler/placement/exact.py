"""An exact search on small cases: some way to pack several classes on few nodes, if there is one.

Greedy packing can fail where members fit in another arrangement. On few nodes all arrangements
that matter can be tried: only those that fill a node as far as it goes do.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from gang_scheduler.model.nodes import IntArray

MOST_NODES: Final = 12
MOST_MEMBERS: Final = 16
MOST_STATES: Final = 50_000
"""A bound on the arrangements that are looked at, for sixteen members that are all different."""

Counts = tuple[int, ...]


def pack(
    counts: Counts, slots: IntArray, requests: IntArray, free: IntArray, at_least: int
) -> list[Counts] | None:
    """Return how many of each class go on each node, in the order of nodes; None if no way exists.

    `counts` is by class, `slots` classes by nodes, `requests` classes by resources and `free` nodes
    by resources. `at_least` so many must have a place in all, of whichever classes.
    """
    return _Search(slots, requests, free, spare=sum(counts) - at_least).from_node(0, counts)


class _Search:
    """Depth first over the nodes; what failed once is not tried again."""

    def __init__(self, slots: IntArray, requests: IntArray, free: IntArray, *, spare: int) -> None:
        self._spare = spare
        self._slots = slots.tolist()
        self._requests = requests
        self._free = free
        self._dead: set[tuple[int, Counts]] = set()

    def from_node(self, node: int, left: Counts) -> list[Counts] | None:
        """Pack what is left on this node and the later ones."""
        if sum(left) <= self._spare:
            return [(0,) * len(left)] * (len(self._free) - node)
        if node == len(self._free) or (node, left) in self._dead:
            return None
        if len(self._dead) > MOST_STATES:
            return None
        for here in self._fillings(node, 0, left, self._free[node]):
            rest = tuple(a - b for a, b in zip(left, here, strict=True))
            found = self.from_node(node + 1, rest)
            if found is not None:
                return [here, *found]
        self._dead.add((node, left))
        return None

    def _fillings(self, node: int, first: int, left: Counts, free: IntArray) -> Iterator[Counts]:
        """Yield how many of the classes from `first` on the node can take, the last to the full."""
        request = self._requests[first]
        most = min(left[first], self._slots[first][node], _times(request, free))
        if first == len(left) - 1:
            yield (most,)
            return
        for number in range(most, -1, -1):
            for others in self._fillings(node, first + 1, left, free - number * request):
                yield (number, *others)


def _times(request: IntArray, free: IntArray) -> int:
    """Return how often a request fits."""
    asked = request > 0
    if not asked.any():
        return MOST_MEMBERS
    return max(0, int((free[asked] // request[asked]).min()))


def small(nodes: int, counts: Sequence[int]) -> bool:
    """Tell whether a case is small enough to be searched."""
    return nodes <= MOST_NODES and sum(counts) <= MOST_MEMBERS
