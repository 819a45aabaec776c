"""The positions of members in the rank order of their gang: they decide the slice of each."""

from collections.abc import Iterator, Sequence

import numpy as np

from gang_scheduler.model import topology_scope
from gang_scheduler.model.nodes import ABSENT, IntArray
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology import Topology
from gang_scheduler.scheduler.placement.placement_units import RankedMembers


def as_first_placed(part: RankedMembers, tree: Topology, *, complete: bool) -> Sequence[int]:
    """Return the position of each member in the rank order when the gang was first placed.

    Members may be missing now, so there are several ways to count. The first way that leaves no
    slice in two domains is taken. If there is none, members are counted without gaps.
    """
    line = part.in_line()
    ways = _ways_to_count(line, max(part.sizes), complete=complete)
    places = places_of(line, tree)
    return next((way for way in ways if _agree(way, places, part, tree)), range(len(line)))


def slices_hold(part: RankedMembers, tree: Topology) -> bool:
    """Return whether some way to count the bound members leaves every slice in one domain."""
    if max(part.sizes) == 1:
        return True
    line = part.in_line()
    places = places_of(line, tree)
    ways = _ways_to_count(line, max(part.sizes), complete=True)
    return any(_agree(way, places, part, tree) for way in ways)


def _ways_to_count(line: Sequence[Pod], size: int, *, complete: bool) -> Iterator[Sequence[int]]:
    """Yield the ways in which members may have been counted at first, the likeliest first.

    Members are counted by index if all have different, ascending indexes; roles may break that.
    Indexes need not begin at 0: a leader may have index 0, and an incomplete gang may lack its
    first members. If indexes had gaps from the beginning, members were counted in line, without
    gaps.
    """
    ranks = [pod.rank for pod in line]
    # A part may have no members in a try with fewer members.
    if ranks and all(len(rank) == 1 for rank in ranks) and ranks == sorted(set(ranks)):
        first = ranks[0][0]
        missing = range(min(first + 1, size))
        for number in missing if complete else reversed(missing):
            yield [rank[0] - first + number for rank in ranks]
    yield range(len(line))


def _agree(numbers: Sequence[int], places: IntArray, part: RankedMembers, tree: Topology) -> bool:
    """Return whether all bound members of a slice are in one domain."""
    bound = np.flatnonzero(places != ABSENT)
    domains = domains_by_level(tree)
    for depth in topology_scope.sliced_at(part.sizes):
        slices = [numbers[n] // part.sizes[depth] for n in bound.tolist()]
        found = domains[depth][places[bound]].tolist()
        if len(set(zip(slices, found, strict=True))) > len(set(slices)):
            return False
    return True


def places_of(pods: Sequence[Pod], tree: Topology) -> IntArray:
    """Return the place in the tree of each pod's node; ABSENT for nodes outside the tree."""
    rows = [tree.nodes.rows.get(pod.node, ABSENT) for pod in pods]
    return np.array([ABSENT if row == ABSENT else tree.places[row] for row in rows], dtype=np.int64)


def domains_by_level(tree: Topology) -> IntArray:
    """Return the domain of every place, levels by places. Computed once per tree."""

    def compute() -> IntArray:
        places = np.arange(len(tree.rows))
        return np.array([level.at(places) for level in tree.levels])

    return tree.nodes.cached(("domains by level", tree.tree_spec), compute)
