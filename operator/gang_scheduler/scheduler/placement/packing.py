"""Members of several classes on few nodes: a way to pack them where greedy packing fails.

Members with different claims of devices are placed one by one instead (`assume_one_by_one`).
"""

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray
from gang_scheduler.model.pods import PodClass
from gang_scheduler.scheduler.effort import Effort, looks
from gang_scheduler.scheduler.placement import scoring
from gang_scheduler.scheduler.placement.feasible_slots import offer_slots
from gang_scheduler.scheduler.placement.lower_bounds import Floors
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.scheduler.trial import Share, Trial, shares

# An exact search on small cases: it finds some way to pack several classes on few nodes, if one
# exists. Greedy packing can fail where members fit in another arrangement.
#
# On few nodes all arrangements that matter can be tried. If there is a way, there is also one that
# fills the first node most, then the second, and so on: in it every node takes as much as it can,
# and of equal nodes none takes more than the one before it.

MOST_NODES: Final = 12
MOST_MEMBERS: Final = 16
MOST_LOOKS: Final = 2_000
"""The most arrangements of single nodes that are tried before the search gives up."""

Counts = tuple[int, ...]


def pack_exactly(
    counts: Counts, slots: IntArray, requests: IntArray, free: IntArray, effort: Effort
) -> list[Counts] | None:
    """Return how many of each class go on each node, in the order of nodes.

    None if there is no way, or looks were used up before one was found. `counts` is by class,
    `slots` (classes, nodes), `requests` (classes, resources) and `free` (nodes, resources).
    """
    if not len(free):
        # Without members there are no resources to compare either.
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
    """A depth-first search over the nodes; equal nodes follow each other."""

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
        # The places of each floor on a node and on all later nodes together.
        self._from: list[list[int]] = places[:, ::-1].cumsum(axis=1)[:, ::-1].T.tolist()
        self._dead: set[tuple[int, Counts, Counts]] = set()
        alike = range(len(self._free) - 1, 0, -1)
        unlike = (each for each in alike if not self._is_like_the_one_before(each))
        self._alike_from = next(unlike, 0)

    def from_node(self, node: int, left: Counts, most: Counts) -> list[Counts] | None:
        """Pack the `left` members on this node and later ones; this node takes at most `most`."""
        if not any(left):
            return [(0,) * len(left)] * (len(self._free) - node)
        if node == len(self._free) or self._is_impossible(node, left):
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
        """Count an arrangement of a node; return whether the search may go on."""
        self._effort.spend(1)
        self._looks_left -= 1
        if self._looks_left <= 0:
            self._effort.cut()
        return self._looks_left > 0 and self._effort.may_go_on()

    def _is_impossible(self, node: int, left: Counts) -> bool:
        for classes, places in zip(self._floors, self._from[node], strict=True):
            if sum([left[each] for each in classes]) > places:
                return True
        return False

    def _are_alike_from(self, node: int) -> bool:
        """Return whether this node and all later nodes are alike."""
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
        """Yield the ways to fill the node: the number of each class, and the remaining room."""
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
    return nodes <= MOST_NODES and are_few(counts)


def are_few(counts: Iterable[int]) -> bool:
    """Return whether these are few enough members to be searched."""
    return sum(counts) <= MOST_MEMBERS


MOST_SELECTIONS: Final = 64
"""The most choices of members that are tried, if not all members need a place."""


def assume_arranged(
    sizes: Mapping[PodClass, int], rows: IntArray, at_least: int, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for `at_least` members on these nodes, at most `sizes` of each class.

    None if there is no way, or the case is too large to search. The search is exact for requests
    and host ports, and all filters check its result. Each class has a share, in their order: it is
    empty if no member of the class was chosen.
    """
    counts = tuple(sizes.values())
    if not small(len(rows), counts):
        return None
    requests = np.array([trial.nodes.vector(pod_class.requests) for pod_class in sizes])
    for chosen in _selections(counts, at_least, requests, trial.free[rows]):
        numbers = dict(zip(sizes, chosen, strict=True))
        found = _packed(numbers, rows, trial, profile)
        if found is None and any(number and each.devices for each, number in numbers.items()):
            some = {each: number for each, number in numbers.items() if number}
            placed = assume_one_by_one(some, rows, trial, profile)
            found = None if placed is None else _of_each(numbers, placed)
        if found is not None:
            return found
        if not trial.effort.may_go_on():
            return None
    return None


def _of_each(classes: Iterable[PodClass], placed: Iterable[Share]) -> list[Share]:
    """Return a share for each class, in their order: an empty one if it has none."""
    by_class = {share.pod_class: share for share in placed}
    none: IntArray = np.zeros(0, dtype=np.int64)
    return [by_class.get(each) or Share(each, none, none) for each in classes]


def _selections(
    counts: Sequence[int], at_least: int, requests: IntArray, free: IntArray
) -> Iterator[tuple[int, ...]]:
    """Yield how many members of each class to choose; classes with small requests go first."""
    if at_least == sum(counts):
        yield tuple(counts)
        return
    parts = (requests / free.clip(min=0).sum(axis=0).clip(min=1)).max(axis=1, initial=0)
    smallest_first = np.argsort(parts, kind="stable").tolist()
    chosen = choices([counts[each] for each in smallest_first], at_least)
    for ordered in itertools.islice(chosen, MOST_SELECTIONS):
        found = [0] * len(counts)
        for each, number in zip(smallest_first, ordered, strict=True):
            found[each] = number
        yield tuple(found)


def choices(counts: Sequence[int], number: int) -> Iterator[tuple[int, ...]]:
    """Yield all ways to choose `number` members, as a number per class.

    Ways with most members of the first classes come first.
    """
    if not counts:
        if not number:
            yield ()
        return
    least = max(0, number - sum(counts[1:]))
    for first in range(min(counts[0], number), least - 1, -1):
        for others in choices(counts[1:], number - first):
            yield (first, *others)


def _packed(
    chosen: Mapping[PodClass, int], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for exactly the chosen number of members of each class; None if they do not fit."""
    some = {pod_class: number for pod_class, number in chosen.items() if number}
    requests, ports = (
        [trial.nodes.vector(pod_class.requests) for pod_class in some],
        _shared_ports(some),
    )
    found = pack_exactly(
        tuple(some.values()),
        np.array([offer_slots(pod_class, trial, profile)[rows] for pod_class in some]),
        np.hstack([requests, ports]),
        np.hstack([trial.free[rows], np.ones((len(rows), ports.shape[1]), dtype=np.int64)]),
        trial.effort,
    )
    if found is None:
        return None
    columns = dict(zip(some, np.array(found, dtype=np.int64).T, strict=True))
    none = np.zeros(len(rows), dtype=np.int64)
    return _assume_columns(
        {pod_class: columns.get(pod_class, none) for pod_class in chosen}, rows, trial, profile
    )


def _shared_ports(pod_classes: Collection[PodClass]) -> IntArray:
    """Return the host ports for which several classes ask, as an array of classes by ports.

    A port counts as a resource of which each node has one. A class has no slots on a node where one
    of its ports is already taken.
    """
    numbers = Counter(port for pod_class in pod_classes for port in pod_class.host_ports)
    shared = [port for port, number in numbers.items() if number > 1]
    asked = [[int(port in pod_class.host_ports) for port in shared] for pod_class in pod_classes]
    return np.array(asked, dtype=np.int64).reshape(len(pod_classes), len(shared))


def _assume_columns(
    columns: Mapping[PodClass, IntArray], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    shares = []
    with trial.all_or_nothing() as attempt:
        for pod_class, counts in columns.items():
            if (counts > offer_slots(pod_class, trial, profile)[rows]).any():
                return None
            share = Share(pod_class, rows[counts > 0], counts[counts > 0])
            trial.assume(share)
            shares.append(share)
        attempt.commit()
    return shares


# Members with different claims, one by one.
#
# Which devices a member leaves on a node depends on the others there, so requests cannot be added
# up as those of other resources. Members are placed one by one, and each sees the devices that are
# left. If one finds no node, the member before it moves on to its next node.


MOST_STEPS: Final = 300
"""The most nodes that are tried for members before the search gives up."""


def assume_one_by_one(
    sizes: Mapping[PodClass, int], rows: IntArray, trial: Trial, profile: Profile
) -> list[Share] | None:
    """Take room for all these members on these nodes; None if no way was found.

    The classes with the least choice come first. Members of one class are alike, so each of them is
    placed only on the node of the one before it, or on later ones.
    """
    within = np.zeros(len(trial.nodes), dtype=np.bool_)
    within[rows] = True
    search = _ByMember(within, trial, profile)
    room = {each: int(search.slots(each).clip(max=sizes[each]).sum()) for each in sizes}
    order = sorted(sizes, key=lambda each: (room[each], each.requests))
    with trial.all_or_nothing() as attempt:
        found = search.places([each for each in order for _ in range(sizes[each])])
        if found is None:
            return None
        attempt.commit()
    return shares(sorted(found, key=lambda each: order.index(each[0])))


class _ByMember:
    """A depth-first search over the members."""

    def __init__(self, within: BoolArray, trial: Trial, profile: Profile) -> None:
        self._within = within
        self._trial = trial
        self._profile = profile
        self._steps = 0

    def slots(self, pod_class: PodClass) -> IntArray:
        """Return how many members of a class each node takes now."""
        self._trial.effort.spend(looks(len(self._trial.nodes)))
        return np.where(self._within, offer_slots(pod_class, self._trial, self._profile), 0)

    def places(
        self, members: Sequence[PodClass], first: int = 0, after: int = 0
    ) -> list[tuple[PodClass, int]] | None:
        """Place the members from the first one on, which may use rows from `after` on."""
        if first == len(members):
            return []
        pod_class = members[first]
        for row in self._rows(pod_class, after):
            if not self._goes_on():
                return None
            with self._trial.all_or_nothing() as attempt:
                self._trial.assume(Share(pod_class, np.array([row]), np.array([1])))
                is_same = first + 1 < len(members) and members[first + 1] == pod_class
                others = self._others(members, first + 1, row if is_same else 0)
                if others is not None:
                    attempt.commit()
                    return [(pod_class, row), *others]
        return None

    def _others(
        self, members: Sequence[PodClass], first: int, after: int
    ) -> list[tuple[PodClass, int]] | None:
        """Place the other members, unless some class has too little room left for them."""
        left = members[first:]
        for each in dict.fromkeys(left):
            number = left.count(each)
            if int(self.slots(each).clip(max=number).sum()) < number:
                return None
        return self.places(members, first, after)

    def _rows(self, pod_class: PodClass, after: int) -> Iterator[int]:
        """Yield the nodes for a member from a row on, the best ones first."""
        slots = self.slots(pod_class)
        slots[:after] = 0
        if slots.any():
            yield from scoring.rank(pod_class, slots, self._trial, self._profile).tolist()

    def _goes_on(self) -> bool:
        """Count a node that is tried; return whether the search may go on."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            self._trial.effort.cut()
        return self._steps <= MOST_STEPS and self._trial.effort.may_go_on()
