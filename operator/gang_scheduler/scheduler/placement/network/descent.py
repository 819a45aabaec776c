"""Down the tree from a domain that holds all members: the fewest domains at every level.

The largest domains are filled first, and the last one is the tightest that takes the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gang_scheduler.model.network.topology import Topology
from gang_scheduler.model.nodes import IntArray
from gang_scheduler.scheduler.placement.network.capacity import NEVER, Capacity


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """The capacity of each level (`capacity.roll_up`), and the preferred depths to gather at."""

    tree: Topology
    capacities: Sequence[Capacity]
    sizes: Sequence[int]
    prefer: Sequence[int]

    def seats(self, depth: int, pool: IntArray, count: int) -> IntArray:
        """Return a place in the tree for each of `count` members, in rank order.

        The domains `pool` of the level `depth` must hold all members. Neighbours in rank are
        neighbours in the tree, and the short last slice has the last ranks.
        """
        below = self._next_below(depth)
        if below is None:
            return np.repeat(pool, count)
        children = self._children(depth, pool, below)
        whole, beside_tail = (column[children] for column in self.capacities[below])
        size = self.sizes[below]
        chosen, counts = fewest(Capacity(whole, beside_tail), count, size)
        domains = children[chosen]
        if self._next_below(below) is not None and size == self.sizes[below + 1]:
            return self.seats(below, domains, count)
        return self._apart(below, domains, counts, count % size)

    def _apart(self, depth: int, domains: IntArray, counts: IntArray, tail: int) -> IntArray:
        """Seat each domain's members by itself: its slices are whole and cannot be pooled."""
        if self._next_below(depth) is None and not tail:
            order = np.argsort(domains)
            return np.repeat(domains[order], counts[order])
        seats, tails = [], []
        for i in np.argsort(domains).tolist():
            found = self.seats(depth, domains[i : i + 1], int(counts[i]))
            # The tail is in the domain that was chosen last.
            end = len(found) - (tail if i == len(counts) - 1 else 0)
            seats.append(found[:end])
            tails.append(found[end:])
        return np.concatenate([*seats, *tails])

    def _next_below(self, depth: int) -> int | None:
        """Return the level to split at: the next preferred one, but none below a sliced one."""
        last = len(self.sizes) - 1
        if depth == last:
            return None
        preferred = next((each for each in self.prefer if each > depth), depth + 1)
        for each in range(depth + 1, preferred):
            if self.sizes[each] > self.sizes[each + 1]:
                return each
        return preferred

    def _children(self, depth: int, pool: IntArray, below: int) -> IntArray:
        """Return the domains of the level `below` that are in domains of the pool."""
        starts = self.tree.levels[below].starts
        if len(pool) == 1:
            places = self.tree.slice_of(depth, int(pool[0]))
            return np.arange(*np.searchsorted(starts, (places.start, places.stop)))
        inside = np.zeros(len(self.tree.levels[depth]), dtype=np.bool_)
        inside[pool] = True
        return np.flatnonzero(inside[self.tree.levels[depth].at(starts)])


def fewest(capacity: Capacity, count: int, size: int) -> tuple[IntArray, IntArray]:
    """Return the fewest domains that hold `count` members in slices of `size`, and how many each.

    All domains together must hold them. Exact: no smaller number of domains does. The last domain
    is the tightest that takes the rest, and has the tail if there is one; ties go to the first.
    """
    order = np.argsort(-capacity.whole, kind="stable")
    whole = capacity.whole[order]
    held = np.cumsum(whole)
    tail = count % size
    needed = count - tail
    if tail:
        return _fewest_with_tail(order, capacity.beside_tail[order], whole, held, needed, tail)
    full = int(np.searchsorted(held, needed))
    left = needed - (int(held[full - 1]) if full else 0)
    # Of the domains that take what is left, the smallest; of equal ones the first.
    tightest = whole[int(np.searchsorted(-whole, -left, side="right")) - 1]
    last = max(full, int(np.searchsorted(-whole, -tightest)))
    return np.append(order[:full], order[last]), np.append(whole[:full], left)


def _fewest_with_tail(  # noqa: PLR0917 - the sorted columns of one level.
    order: IntArray,
    beside_tail: IntArray,
    whole: IntArray,
    held: IntArray,
    needed: int,
    tail: int,
) -> tuple[IntArray, IntArray]:
    """Choose where the tail goes, too: beside it, a domain may hold less."""
    loss = Capacity(whole, beside_tail).loss
    beside = np.where(beside_tail >= 0, beside_tail, NEVER)
    # With n domains: the tail is in one of the n largest, or in a smaller one beside n - 1.
    before = np.append(0, held[:-1])
    within = held + np.maximum.accumulate(loss)
    outside = before + np.maximum.accumulate(beside[::-1])[::-1]
    number = int(np.argmax(np.maximum(within, outside) >= needed)) + 1
    hosts = np.where(
        np.arange(len(order)) < number, held[number - 1] + loss, before[number - 1] + beside
    )
    fitting = np.flatnonzero(hosts >= needed)
    tightest = whole[fitting[-1]]
    host = int(fitting[np.argmax(whole[fitting] == tightest)])
    others = [each for each in range(number) if each != host][: number - 1]
    counts = whole[others]
    over = int(counts.sum()) - needed
    if over > 0:
        counts[-1] -= over
    return (
        np.append(order[others], order[host]),
        np.append(counts, needed - int(counts.sum()) + tail),
    )
