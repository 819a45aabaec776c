"""Members of one class that gather: the domain for all members, and their nodes inside it.

Members that ask the same of a node form a class. A class is placed by an exact search, down to
the first layer at which it needs more than one domain.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.topology import Topology
from gang_scheduler.model.topology_scope import Sizes
from gang_scheduler.scheduler.placement import interdependent, scoring
from gang_scheduler.scheduler.placement.feasible_slots import most_slots, offer_slots, slot_limit
from gang_scheduler.scheduler.placement.placement_units import RankedMembers
from gang_scheduler.scheduler.placement.tree import capacity
from gang_scheduler.scheduler.placement.tree.capacity import NEVER, Capacity
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial, merged, number_in

# From a domain that holds all members down the tree: the fewest domains at every level. The
# largest domains are filled first, and the last one is the tightest that takes the rest.


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Seats members from a domain down the tree, by the capacity of each level.

    `capacities` come from `capacity.roll_up`; `prefer` are the depths to gather at if possible.
    """

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
        """Seat the members of each domain separately: whole slices cannot be shared by domains."""
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
        """Return the depth to split at: the next preferred level, but none below a sliced level.

        None at the lowest level.
        """
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
    """Return the fewest domains that hold `count` members in slices of `size`.

    Also return the number of members for each of these domains. All domains together must have room
    for the members. The result is exact: no fewer domains hold them. The last domain is the
    tightest that takes the rest. If there is a tail, it is in the last domain. Ties go to the
    first.
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
    # The smallest domain that holds the rest; the first one if several are equally small.
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
    """Do the same as `fewest` for members with a tail: the domain with the tail is the last one.

    The columns are those of the domains, the largest first. The tail costs a domain some of its
    whole slices, in one domain more than in another.
    """
    loss = Capacity(whole, beside_tail).loss
    beside = np.where(beside_tail >= 0, beside_tail, NEVER)
    # With n domains, the tail is in one of the n largest, or in a smaller one besides the n - 1
    # largest.
    before = np.append(0, held[:-1])
    tail_within = held + np.maximum.accumulate(loss)
    tail_outside = before + np.maximum.accumulate(beside[::-1])[::-1]
    number = int(np.argmax(np.maximum(tail_within, tail_outside) >= needed)) + 1
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


LOOKS_A_LEVEL: Final = 0.3
PLACES_A_LOOK: Final = 10_000
"""Adding up the slots of a level costs LOOKS_A_LEVEL looks, and one more for this many places."""

Seated = dict[str, int]
"""Members by uid, and the place in the tree where each has room."""
Found = tuple[int, int]
"""A domain: its depth, and its place in that level."""


@dataclass(frozen=True, slots=True, eq=False)
class ClassMembers:
    """Members of one class in rank order, with the sizes of their slices."""

    pod_class: PodClass
    members: tuple[Pod, ...]
    sizes: Sizes

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """Where members may go: the places of a tree that are `open`, in one domain of depth `must`.

    `prefer` are the preferred depths to gather at, from the top down.
    """

    tree: Topology
    open: BoolArray
    must: int = 0
    prefer: tuple[int, ...] = ()

    def inside(self, depth: int, place: int) -> "Area":
        """Return the part of the area in one domain; members need not gather closer."""
        places = np.zeros_like(self.open)
        places[self.tree.slice_of(depth, place)] = True
        return replace(self, open=self.open & places, must=0)

    def within(self, depth: int, domains: IntArray) -> "Area":
        """Return the part of the area in any of these domains; members need not gather closer."""
        level = self.tree.levels[depth]
        chosen = np.zeros(len(level), dtype=np.bool_)
        chosen[domains] = True
        return replace(self, open=self.open & np.repeat(chosen, level.sizes), must=0)


def by_class(parts: Iterable[RankedMembers], tree: Topology) -> list[ClassMembers]:
    """Group the members of parts by class and slice sizes."""
    found: dict[tuple[PodClass, int], list[Pod]] = {}
    sizes: list[Sizes] = []
    for number, part in enumerate(parts):
        sizes.append(part.sizes)
        sliced = part.sizes[0] > 1
        for pod in part.members:
            found.setdefault((pod.pod_class, number if sliced else -1), []).append(pod)
    unsliced = (1,) * len(tree.levels)
    return [
        ClassMembers(pod_class, tuple(pods), unsliced if number < 0 else sizes[number])
        for (pod_class, number), pods in found.items()
    ]


class ClassSeating:
    """Seats classes in areas of one tree, on one trial."""

    def __init__(self, trial: Trial, profile: Profile) -> None:
        self.trial = trial
        self.profile = profile

    def slots(self, class_members: ClassMembers, area: Area) -> IntArray:
        """Return the slots of the class by place in the tree; none outside the area."""
        return self._in(area, offer_slots(class_members.pod_class, self.trial, self.profile))

    def rolled(self, class_members: ClassMembers, area: Area) -> tuple[Capacity, ...]:
        """Return the capacity of every domain for the class, from the cluster down."""
        return self.rolled_up(class_members, self.slots(class_members, area), area)

    def rolled_at_best(self, class_members: ClassMembers, area: Area) -> tuple[Capacity, ...]:
        """Return an upper bound on `rolled`, wherever other members are placed."""
        return self.rolled_up(class_members, self.slots_at_best(class_members, area), area)

    def rolled_up(
        self, class_members: ClassMembers, slots: IntArray, area: Area
    ) -> tuple[Capacity, ...]:
        """Return the capacity of every domain for the class, if places offer it these slots."""
        tree, number = area.tree, len(class_members)
        looks_a_level = LOOKS_A_LEVEL + len(slots) / PLACES_A_LOOK
        self.trial.effort.count(len(tree.levels) * looks_a_level)
        return capacity.roll_up(slots, number, class_members.sizes, tree)

    def slots_at_best(self, class_members: ClassMembers, area: Area) -> IntArray:
        """Return an upper bound on `slots`, wherever other members are placed."""
        return self._in(area, most_slots(class_members.pod_class, self.trial, self.profile))

    def seat(self, class_members: ClassMembers, area: Area) -> Seated | None:
        """Take room for all members in one domain of `area.must` or below, or for none."""
        if not area.open.any():
            return None
        rolled = self.rolled(class_members, area)
        found = tightest(rolled, class_members, area)
        if found is None:
            return None
        area, rolled, found = self._as_preferred(class_members, area, rolled, found)
        depth, place = found
        descent = Descent(area.tree, rolled, class_members.sizes, area.prefer)
        seats = descent.seats(depth, np.array([place]), len(class_members))
        return self.assume(class_members, area.tree, seats)

    def seat_one_by_one(self, by_class: Sequence[ClassMembers], area: Area) -> Seated | None:
        """Take room for all members of classes that depend on each other, else for none."""
        wanted = sum(len(class_members) for class_members in by_class)
        found = self.assume_one_by_one(by_class, area, at_least=wanted)
        if number_in(found) < wanted:
            return None
        seats = {
            share.pod_class: np.sort(np.repeat(area.tree.places[share.rows], share.counts)).tolist()
            for share in merged(found)
        }
        return {
            pod.uid: place
            for class_members in by_class
            for pod, place in zip(
                class_members.members, seats[class_members.pod_class], strict=True
            )
        }

    def assume_one_by_one(
        self, by_class: Sequence[ClassMembers], area: Area, *, at_least: int
    ) -> list[Share]:
        """Take room for as many members as fit, one by one, if at least `at_least` do."""
        rows = np.zeros(len(self.trial.nodes), dtype=np.bool_)
        rows[area.tree.rows[area.open]] = True
        sizes = {class_members.pod_class: len(class_members) for class_members in by_class}
        return interdependent.assume_interdependent(sizes, at_least, rows, self.trial, self.profile)

    def assume(self, class_members: ClassMembers, tree: Topology, seats: IntArray) -> Seated:
        """Take room for the members of a class at these places in the tree, in rank order."""
        places, counts = np.unique(seats, return_counts=True)
        self.trial.assume(Share(class_members.pod_class, tree.rows[places], counts))
        return dict(zip((pod.uid for pod in class_members.members), seats.tolist(), strict=True))

    def _in(self, area: Area, slots: IntArray) -> IntArray:
        """Convert slots by node row to slots by place in the tree; 0 outside the area."""
        offered = slots[area.tree.rows].clip(max=slot_limit(self.trial))
        return np.where(area.open, offered, 0)

    def _as_preferred(
        self, class_members: ClassMembers, area: Area, rolled: tuple[Capacity, ...], found: Found
    ) -> tuple[Area, tuple[Capacity, ...], Found]:
        """Restrict area, capacity and domain to preferred nodes, if all members fit there.

        They must fit in a domain on the same or a lower level. If possible, nodes with scarce
        resources that the class does not need are left out as well.
        """
        pod_class, rows = class_members.pod_class, area.tree.rows
        later = scoring.later(pod_class, np.arange(len(self.trial.nodes)), self.trial)
        matters = scoring.matters(pod_class, self.trial, self.profile)
        if not (matters or later.any()):
            return area, rolled, found
        slots = offer_slots(pod_class, self.trial, self.profile)
        scores = scoring.scores(pod_class, slots, self.trial, self.profile) if matters else None
        for liking in (scores, -later):
            if liking is None:
                continue
            among = area.open & (slots[rows] > 0)
            best = liking[rows] == liking[rows][among].max()
            if best[among].all():
                continue
            liked = replace(area, open=among & best)
            rolled_there = self.rolled(class_members, liked)
            there = tightest(rolled_there, class_members, liked)
            if there is not None and there[0] >= found[0]:
                area, rolled, found = liked, rolled_there, there
        return area, rolled, found

    def request(self, class_members: ClassMembers) -> IntArray:
        """Return the request of one member, along the resource axis."""
        return self.trial.nodes.vector(class_members.pod_class.requests)


def tightest(rolled: Sequence[Capacity], class_members: ClassMembers, area: Area) -> Found | None:
    """Return the domain to gather in, as its depth and its place in that level.

    The level is the lowest one with a domain that holds all members. In this level, the domain with
    the least room left over is taken, then the one with the least in its parent, and so on up.
    Further ties go by name.
    """
    for depth in range(len(rolled) - 1, area.must - 1, -1):
        domains = np.flatnonzero(
            rolled[depth].holds(len(class_members), class_members.sizes[depth])
        )
        if len(domains):
            return depth, _least_left_over(rolled, area.tree, depth, domains)
    return None


def _least_left_over(
    rolled: Sequence[Capacity], tree: Topology, depth: int, domains: IntArray
) -> int:
    ancestors = domains
    for above in range(depth, 0, -1):
        offered = rolled[above].whole[ancestors]
        best = offered == offered.min()
        domains = domains[best]
        ancestors = tree.levels[above].parents[ancestors[best]]
    return int(domains[np.argmin(tree.levels[depth].ranks[domains])])
