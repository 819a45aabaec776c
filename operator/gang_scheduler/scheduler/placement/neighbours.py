"""Members that join others that have a node already: each beside its neighbours in rank.

Replacements of members that died, what a crash left, and surplus that comes later. A member goes
where its slices are, and of the free slots there takes the one that shares the deepest domains
with the members before and after it.
"""

from collections.abc import Sequence

import numpy as np

from gang_scheduler.model.gangs import Problem, Reason
from gang_scheduler.model.names import natural_key
from gang_scheduler.model.nodes import ABSENT, BoolArray, IntArray
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology import Topology
from gang_scheduler.scheduler.grounds import Ground, Sizes
from gang_scheduler.scheduler.placement.crowds import Area, Crowd, Seated
from gang_scheduler.scheduler.placement.packing import Packing
from gang_scheduler.scheduler.units import Part


def home_of(mates: Sequence[Pod], ground: Ground) -> int | None:
    """Return the domain that the others must join: of those with bound members, the fullest.

    It is a domain of the level that all must gather in; None if nobody is bound in the tree.
    """
    counts = _mates_by_domain(mates, ground)
    return int(np.argmax(counts)) if counts.any() else None


def scattered(mates: Sequence[Pod], ground: Ground) -> Problem | None:
    """Tell of bound members that are not all in one domain that they should have gathered in."""
    counts = _mates_by_domain(mates, ground)
    domains = np.flatnonzero(counts)
    if len(domains) < 2:
        return None
    names = [str(ground.tree.domain(ground.must, place)) for place in domains.tolist()]
    home = ground.tree.domain(ground.must, int(np.argmax(counts)))
    words = f"members are bound in {len(names)} domains, {', '.join(names[:3])}"
    return Problem(Reason.INVALID_SPEC, f"{words}: the others join those in {home}")


def _mates_by_domain(mates: Sequence[Pod], ground: Ground) -> IntArray:
    places = _places_of(mates, ground.tree)
    level = ground.tree.levels[ground.must]
    return np.bincount(level.at(places[places != ABSENT]), minlength=len(level))


def seat(parts: Sequence[Part], area: Area, packing: Packing) -> Seated:
    """Take room for as many members as have a slot that their bound mates allow."""
    seated: Seated = {}
    for part in parts:
        seated |= _Ranks(part, area, packing).seat()
    return seated


class _Ranks:
    """The members of one part in rank order; those that have a place in the tree, and where."""

    def __init__(self, part: Part, area: Area, packing: Packing) -> None:
        self._area = area
        self._packing = packing
        self._sizes = part.sizes
        self._line = sorted((*part.members, *part.mates), key=_order)
        self._runs = _run_positions(self._line)
        places = _places_of(self._line, area.tree)
        self._places = dict(zip((pod.uid for pod in self._line), places.tolist(), strict=True))
        self._domains = _domains_by_level(area.tree)

    def seat(self) -> Seated:
        """Seat those who wait, the first in rank first."""
        seated: Seated = {}
        for position, pod in enumerate(self._line):
            if pod.node or pod.uid in seated:
                continue
            for member, place in self._seat_at(position, pod).items():
                self._places[member] = place
                seated[member] = place
        return seated

    def _seat_at(self, position: int, pod: Pod) -> Seated:
        run = self._untouched_run(position)
        if run:
            return self._seat_run(run)
        alone = Crowd(pod.ask, (pod,), (1,) * len(self._sizes))
        slots = self._packing.seating.slots(alone, self._area)
        allowed = (slots > 0) & self._where_its_slices_are(position)
        if not allowed.any():
            return {}
        place = self._closest(position, allowed, slots)
        return self._packing.seating.take(alone, self._area.tree, np.array([place]))

    def _untouched_run(self, position: int) -> list[Pod]:
        """Return the waiting members of this one's largest slice, if nobody of it has a place."""
        size = self._sizes[0]
        if size == 1:
            return []
        run = [
            pod
            for pod, other in zip(self._line, self._runs, strict=True)
            if other // size == self._runs[position] // size
        ]
        return run if all(self._places[pod.uid] == ABSENT for pod in run) else []

    def _seat_run(self, run: Sequence[Pod]) -> Seated:
        depth = max(i for i, size in enumerate(self._sizes) if size == self._sizes[0])
        asks = dict.fromkeys(pod.ask for pod in run)
        sizes = inner_sizes(self._sizes)
        crowds = [Crowd(ask, tuple(pod for pod in run if pod.ask is ask), sizes) for ask in asks]
        where = Area(self._area.tree, self._area.open, depth, self._area.prefer)
        return self._packing.seat(crowds, where) or {}

    def _where_its_slices_are(self, position: int) -> BoolArray:
        """Return the places in the domains where others of its slices are."""
        allowed = np.ones(len(self._area.open), dtype=np.bool_)
        for depth, size in enumerate(self._sizes):
            inner = self._sizes[depth + 1] if depth + 1 < len(self._sizes) else 1
            if size == inner:
                continue
            run = self._runs[position] // size
            for pod, other in zip(self._line, self._runs, strict=True):
                place = self._places[pod.uid]
                if other // size == run and place != ABSENT:
                    allowed &= self._domains[depth] == self._domains[depth][place]
                    break
        return allowed

    def _closest(self, position: int, allowed: BoolArray, slots: IntArray) -> int:
        """Return the place that shares most with its neighbours; of those the tightest."""
        candidates = np.flatnonzero(allowed)
        shared = [
            (self._domains[:, candidates] == self._domains[:, [place]]).sum(axis=0)
            for place in self._neighbours(position)
        ]
        nearest = np.maximum.reduce(shared) if shared else np.zeros(len(candidates))
        farthest = np.minimum.reduce(shared) if shared else nearest
        order = np.lexsort((candidates, slots[candidates], -farthest, -nearest))
        return int(candidates[order[0]])

    def _neighbours(self, position: int) -> list[int]:
        """Return the places of the next members before and after that have one."""
        before = (self._places[pod.uid] for pod in reversed(self._line[:position]))
        after = (self._places[pod.uid] for pod in self._line[position + 1 :])
        found = (
            next((place for place in each if place != ABSENT), None) for each in (before, after)
        )
        return [place for place in found if place is not None]


def inner_sizes(sizes: Sizes) -> Sizes:
    """Return how the members of one largest slice are sliced further."""
    smaller = next((size for size in sizes if size < sizes[0]), 1)
    return tuple(min(size, smaller) for size in sizes)


def _order(pod: Pod) -> tuple[object, ...]:
    return pod.rank, natural_key(pod.name)


def _run_positions(line: Sequence[Pod]) -> list[int]:
    """Return the number in rank of each: by its index where all have one, else by counting."""
    ranks = [pod.rank for pod in line]
    if all(len(rank) == 1 for rank in ranks) and len(set(ranks)) == len(ranks):
        return [rank[0] for rank in ranks]
    return list(range(len(line)))


def _places_of(pods: Sequence[Pod], tree: Topology) -> IntArray:
    rows = [tree.nodes.rows.get(pod.node, ABSENT) for pod in pods]
    return np.array([ABSENT if row == ABSENT else tree.places[row] for row in rows], dtype=np.int64)


def _domains_by_level(tree: Topology) -> IntArray:
    """Return the domain of every place, levels by places. Computed once a tree."""

    def compute() -> IntArray:
        places = np.arange(len(tree.rows))
        return np.array([level.at(places) for level in tree.levels])

    return tree.nodes.derive(("domains by level", tree.scheme), compute)
