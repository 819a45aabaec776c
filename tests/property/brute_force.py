"""Where can members gather? All ways are tried, in plain Python; no code of scheduler/ is used.

Good for a dozen nodes and sixteen members. A node is known by its path: the names of its domains
from the top layer down to its own. So a domain is the nodes that share the beginning of their
paths, and the whole tree is the domain with the empty path.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

Path = tuple[str, ...]
Amounts = tuple[tuple[str, int], ...]
Counts = tuple[int, ...]
"""A number of members for each class."""
Nested = int | tuple["Nested", ...]
"""The slots of a tree, domain by domain down to the finest slices. Sorted: names do not matter."""


@dataclass(frozen=True)
class Instance:
    """Free room by path, and members: of each class a number, and what one of them requests.

    Members of a single class may be sliced: `runs` are (depth, size) from coarse to fine, where the
    domains right below the top have depth 1.
    """

    free: tuple[tuple[Path, Amounts], ...]
    requests: tuple[Amounts, ...]
    counts: Counts
    runs: tuple[tuple[int, int], ...] = ()

    def of(self, *counts: int) -> "Instance":
        """Return the same with other numbers of members."""
        return replace(self, counts=counts)

    def domains(self, depth: int, inside: Path = ()) -> list[Path]:
        """Return the domains at a depth that are inside another one."""
        paths = (path for path, _ in self.free if path[: len(inside)] == inside)
        return sorted({path[:depth] for path in paths})

    def holding(self, depth: int, inside: Path = ()) -> list[Path]:
        """Return the domains at a depth that have room for all members."""
        return [each for each in self.domains(depth, inside) if self.fits(each)]

    def lowest(self, must: int = 0) -> list[Path]:
        """Return the domains with room for all at the lowest depth where there is one.

        Nothing above `must` counts.
        """
        deepest = max((len(path) for path, _ in self.free), default=0)
        levels = (self.holding(depth) for depth in range(deepest, must - 1, -1))
        return next((level for level in levels if level), [])

    def fewest(self, depth: int, inside: Path = ()) -> int | None:
        """Return the least number of domains at a depth that hold all; None if not even all do."""
        domains = self.domains(depth, inside)
        for number in range(1, len(domains) + 1):
            if any(self.fits(*some) for some in combinations(domains, number)):
                return number
        return None

    def most(self, counts: Iterable[int], *inside: Path) -> int:
        """Return the largest of these numbers of members of the only class that fits, else 0."""
        return max((each for each in counts if self.of(each).fits(*inside)), default=0)

    def most_of_any(self, inside: Path) -> int:
        """Return how many members fit in a domain, of whatever class; without regard to slices."""
        return max(map(sum, self._in(inside)))

    def fits(self, *inside: Path) -> bool:
        """Return whether there is any way to seat all members in these domains."""
        if self.runs:
            return bool(_after(self._nested(inside), self.counts[0], self._sizes))
        return self.counts in functools.reduce(self._beside, map(self._in, inside), self._nowhere)

    # Without slices: the best ways to fill a domain with members of each class.

    @property
    def _nowhere(self) -> frozenset[Counts]:
        return frozenset({(0,) * len(self.counts)})

    def _in(self, domain: Path) -> frozenset[Counts]:
        return _filled(self, domain)

    def _on_node(self, free: Amounts) -> frozenset[Counts]:
        ways = product(*(range(count + 1) for count in self.counts))
        return _best(way for way in ways if self._has_room(way, dict(free)))

    def _has_room(self, way: Counts, free: Mapping[str, int]) -> bool:
        used: dict[str, int] = {}
        for number, requests in zip(way, self.requests, strict=True):
            for name, amount in requests:
                used[name] = used.get(name, 0) + number * amount
        return all(amount <= max(0, free.get(name, 0)) for name, amount in used.items())

    def _beside(self, one: frozenset[Counts], other: frozenset[Counts]) -> frozenset[Counts]:
        return _best(
            tuple(map(min, map(sum, zip(left, right, strict=True)), self.counts))
            for left, right in product(one, other)
        )

    # With slices: slots, and every way to fill them run by run.

    @property
    def _sizes(self) -> Counts:
        return tuple(size for _, size in self.runs)

    def _nested(self, inside: Sequence[Path]) -> Nested:
        here = [
            (path, self._slots(free))
            for path, free in self.free
            if any(path[: len(domain)] == domain for domain in inside)
        ]
        return _nest(here, [depth for depth, _ in self.runs])

    def _slots(self, free: Amounts) -> int:
        ((most,),) = self._on_node(free)
        return most


def common(paths: Iterable[Path]) -> Path:
    """Return the lowest domain that holds all of these nodes."""
    alike = itertools.takewhile(lambda names: len(set(names)) == 1, zip(*paths, strict=True))
    return tuple(names[0] for names in alike)


@functools.lru_cache(maxsize=4096)
def _filled(instance: Instance, domain: Path) -> frozenset[Counts]:
    nodes = [free for path, free in instance.free if path[: len(domain)] == domain]
    return functools.reduce(instance._beside, map(instance._on_node, nodes), instance._nowhere)


def _best(ways: Iterable[Counts]) -> frozenset[Counts]:
    """Return the ways that no other one is at least as good as for every class."""
    found = set(ways)
    return frozenset(
        way
        for way in found
        if not any(
            other != way and all(a >= b for a, b in zip(other, way, strict=True)) for other in found
        )
    )


def _nest(slots: Sequence[tuple[Path, int]], depths: Sequence[int]) -> Nested:
    if not depths:
        return sum(number for _, number in slots)
    domains = {path[: depths[0]] for path, _ in slots}
    return _sorted(
        _nest([each for each in slots if each[0][: depths[0]] == domain], depths[1:])
        for domain in domains
    )


def _after(tree: Nested, count: int, sizes: Counts) -> set[Nested]:
    """Return what may be left of a tree once `count` members are in it, run by run."""
    if isinstance(tree, int):
        return {tree - count} if tree >= count else set()
    states: set[Nested] = {tree}
    for length in _lengths(count, sizes[0]):
        states = {left for state in states for left in _with_run(state, length, sizes[1:])}
    return states


def _with_run(tree: Nested, length: int, sizes: Counts) -> Iterator[Nested]:
    """Yield what is left of a tree once one run is in one of its domains."""
    assert isinstance(tree, tuple)
    for domain in set(tree):
        others = list(tree)
        others.remove(domain)
        for left in _after(domain, length, sizes):
            yield _sorted([*others, left])


def _lengths(count: int, size: int) -> list[int]:
    """Return the lengths of the runs: the last one may be short."""
    return [min(size, count - start) for start in range(0, count, size)]


def _sorted(trees: Iterable[Nested]) -> Nested:
    return tuple(sorted(trees, key=repr))
