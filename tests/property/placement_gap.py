"""How far placement is off the optimum where nothing exact is promised: `make gap CASES=10000`.

Every case is a random small network (`property.random_cases`), and the optimum is found by brute
force: of all sets of nodes that hold the members, the one with the fewest domains layer by layer,
from the highest layer that is split down to the nodes. Figures only; nothing fails.

| line                     | what is compared with its least number                               |
|--------------------------|----------------------------------------------------------------------|
| split layer              | domains of the highest split layer: exact for members that are alike |
| elsewhere                | the same, had another domain been taken that holds all as well       |
| 1 below, 2 below, ...    | domains of the layers below that                                     |
| placed at all            | gangs that wait, though there is a place for them: none if rigid     |
| members placed           | members of an elastic gang, whose number is exact if they are alike  |
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from rich.console import Console
from rich.table import Table

from property import random_cases
from property.brute_force import Instance, Path, common
from property.networks import Case

Counts = tuple[int, ...]
Finding = tuple[str, int]
"""What was compared, and by how much it is off."""

LINES = (
    "placed at all",
    "members placed",
    "split layer",
    "elsewhere",
    "1 below",
    "2 below",
    "3 below",
)


@dataclass
class Line:
    """How often a number was worse than the best one, and by how much."""

    cases: int = 0
    off: int = 0
    by: int = 0
    worst: int = 0

    def note(self, by: int) -> None:
        """Count a case that is off by so many; 0 is the optimum."""
        self.cases += 1
        self.off += by > 0
        self.by += by
        self.worst = max(self.worst, by)

    def cells(self) -> Iterator[str]:
        """Yield what the table shows."""
        yield f"{self.cases:,}"
        yield f"{self.off:,}"
        yield f"{100 * self.off / self.cases:.2f} %"
        yield f"{self.by / self.off:.2f}" if self.off else ""
        yield str(self.worst) if self.off else ""


Report = dict[tuple[random_cases.Kind, str], Line]


def report(cases: int) -> Report:
    """Return the lines for so many cases of each kind."""
    found: Report = {}
    for kind in random_cases.KINDS:
        for seed in range(cases):
            rigid, elastic = (
                kind(random_cases.dice_of(seed)),
                kind(random_cases.dice_of(seed), elastic=True),
            )
            for what, by in (*_of_rigid(rigid), *_of_elastic(elastic)):
                found.setdefault((kind, what), Line()).note(by)
    return found


def _of_rigid(case: Case) -> Iterator[Finding]:
    placed, instance = [*case.placed().values()], case.instance()
    if placed or instance.lowest(case.must):
        yield "placed at all", int(not placed)
    depth = case.split_at(placed) if placed else None
    if depth is not None:
        yield from _of_split(case, instance, placed, depth)


def _of_split(
    case: Case, instance: Instance, placed: Sequence[Path], depth: int
) -> Iterator[Finding]:
    inside = common(placed)
    used = domains(placed, depth)
    best = least(instance, inside, depth)
    for below, (ours, fewest) in enumerate(zip(used, best, strict=True)):
        # A packing that is worse further up may be better further down: that makes up for nothing.
        yield f"{below} below" if below else "split layer", max(0, ours - fewest)
    elsewhere = (instance.fewest(depth, other) for other in instance.lowest(case.must))
    yield "elsewhere", used[0] - min(each for each in elsewhere if each)


def _of_elastic(case: Case) -> Iterator[Finding]:
    placed, instance = len(case.placed()), case.instance()
    best = max((most(case, instance, each) for each in instance.domains(case.must)), default=0)
    if best:
        yield "placed at all", int(not placed)
    if placed:
        yield "members placed", best - placed


def most(case: Case, instance: Instance, inside: Path) -> int:
    """Return how many members can be placed in a domain, of whatever class; 0 for too few."""
    if instance.runs:
        step = max((each.size for each in case.topology_request.slices if each.whole), default=1)
        first = -(-case.minimum // step) * step
        return instance.most(range(first, len(case.members) + 1, step), inside)
    best = instance.most_of_any(inside)
    return best if best >= case.minimum else 0


def domains(paths: Sequence[Path], depth: int) -> Counts:
    """Return the number of domains of each layer, from a depth down to the nodes."""
    return tuple(len({path[:each] for path in paths}) for each in range(depth, len(paths[0]) + 1))


def least(instance: Instance, inside: Path, depth: int) -> Counts:
    """Return the least numbers of domains that hold all, the higher layers first."""
    nodes = instance.domains(len(instance.free[0][0]), inside)
    nodes = [node for node in nodes if instance.most_of_any(node)]
    sets = (some for size in range(1, len(nodes) + 1) for some in combinations(nodes, size))
    room = {node: instance.most_of_any(node) for node in nodes}
    needed = sum(instance.counts)
    roomy = (some for some in sets if sum(room[node] for node in some) >= needed)
    ordered = sorted(roomy, key=lambda some: domains(some, depth))
    return next(domains(some, depth) for some in ordered if instance.fits(*some))


def table(found: Report, cases: int) -> Table:
    """Return the report as people read it."""
    shown = Table(title=f"off the optimum, {cases:,} random cases of each kind")
    for title in ("members", "what", "cases", "off", "share", "by", "at most"):
        left = title in {"members", "what"}
        shown.add_column(title, justify="left" if left else "right", no_wrap=True)
    for kind in random_cases.KINDS:
        for what in LINES:
            if (kind, what) in found:
                shown.add_row(kind.__name__.replace("_", " "), what, *found[kind, what].cells())
    return shown


def main(arguments: Sequence[str], say: Callable[[Table], None]) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m property.placement_gap", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    cases = parser.parse_args(arguments).cases
    say(table(report(cases), cases))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Console().print))
