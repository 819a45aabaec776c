"""`python -m tools.bench`: run the contestants on shapes, print a table each, and write JSON.

Without options the whole programme, an hour; `--quick` a part of it in under five minutes.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from tools.bench import results, tables
from tools.bench.contestants import CONTESTANTS
from tools.bench.results import Result
from tools.bench.run import run
from tools.bench.shape import RULES, Shape

OURS: Final = ("py-gang-scheduler", "py-gang-scheduler, reflector")
KUBE: Final = ("kube-scheduler, no gangs", "kube-scheduler, native gangs")
EVERYBODY: Final = tuple(CONTESTANTS)


class Entry(NamedTuple):
    """A shape, and the contestants that run it."""

    shape: Shape
    names: tuple[str, ...]


class Comparison(NamedTuple):
    """Entries whose figures are compared closely: they take turns, `rounds` times each."""

    entries: tuple[Entry, ...]
    rounds: int = 1


WHOLE: Final = (
    Comparison(
        (
            Entry(Shape(), EVERYBODY),
            Entry(Shape(rule="rack"), (*OURS, KUBE[1])),
            Entry(Shape(nodes=5000), (*OURS, KUBE[1])),
        ),
        3,
    ),
    Comparison((Entry(Shape(rate=300), (*OURS, KUBE[1])),), 3),
    Comparison((Entry(Shape(rate=1000), (*OURS, KUBE[1])),)),
    Comparison((Entry(Shape(20, 250), (*OURS, KUBE[1])),)),
    Comparison((Entry(Shape(1, 5000), (*OURS, KUBE[1])),)),
    Comparison((Entry(Shape(5000, 1), (*OURS, KUBE[0])),)),
    Comparison((Entry(Shape(rule="anti-affinity"), (*OURS, KUBE[0])),)),
    Comparison((Entry(Shape(rule="spread"), (*OURS, KUBE[0])),)),
    Comparison((Entry(Shape(kwok=True), (*OURS, KUBE[1])),)),
    Comparison((Entry(Shape(claims=True), (*OURS, *KUBE)),)),
)
QUICK: Final = (
    Comparison((Entry(Shape(), ("ceiling", *OURS, KUBE[1])),)),
    Comparison((Entry(Shape(50, 20, 200, rate=300), OURS),)),
)


def main() -> int:
    """Run, print, and fail if a final state was wrong; never because of time."""
    arguments = _arguments()
    setting = results.here_and_now()
    found: list[Result] = []
    for comparison in _programme(arguments):
        for entry, medians in _in_rounds(comparison):
            found += medians
            Console(width=160).print(_table(entry.shape, medians))
        if arguments.json:
            results.write(arguments.json, setting, found)
    wrong = list(tables.problems(found))
    for line in wrong:
        _say(line)
    return int(any("kube-scheduler" not in line for line in wrong))


def _in_rounds(comparison: Comparison) -> Iterator[tuple[Entry, list[Result]]]:
    """Yield the medians of each entry. All take turns: the machine has its moods.

    kube-scheduler runs once: nothing that is said of it depends on a few percent.
    """
    done: dict[tuple[Shape, str], list[Result]] = {}
    for number in range(comparison.rounds):
        for shape, names in comparison.entries:
            for name in names:
                if not number or name not in KUBE:
                    result = run(name, CONTESTANTS[name], shape, _say)
                    done.setdefault((shape, name), []).append(result)
    for entry in comparison.entries:
        yield entry, [results.median(done[entry.shape, name]) for name in entry.names]


def _programme(arguments: argparse.Namespace) -> Iterator[Comparison]:
    if arguments.quick:
        yield from QUICK
    elif arguments.whole:
        yield from WHOLE
    else:
        names = ("gangs", "size", "nodes", "rule", "rate", "kwok", "claims")
        shape = Shape(**{name: getattr(arguments, name) for name in names})
        chosen = tuple(arguments.contestants) or EVERYBODY
        able = tuple(each for each in chosen if CONTESTANTS[each].live or not shape.rate)
        entries = [Entry(shape, able)]
        if arguments.queues:
            ours = tuple(each for each in able if each in OURS)
            entries.append(Entry(replace(shape, queues=arguments.queues), ours))
        yield Comparison(tuple(entries), arguments.rounds)


def _table(shape: Shape, found: list[Result]) -> Table:
    table = Table("contestant", title=str(shape))
    for title in tables.COLUMNS:
        table.add_column(title, justify="right")
    for result in found:
        table.add_row(result.contestant, *(cell(result) for cell in tables.COLUMNS.values()))
    return table


def _arguments() -> argparse.Namespace:
    shape = Shape()
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("contestants", nargs="*", choices=[*CONTESTANTS, []])
    parser.add_argument("--whole", action="store_true", help="all shapes; an hour")
    parser.add_argument("--quick", action="store_true", help="two shapes; under five minutes")
    parser.add_argument("--gangs", type=int, default=shape.gangs)
    parser.add_argument("--size", type=int, default=shape.size)
    parser.add_argument("--nodes", type=int, default=shape.nodes)
    parser.add_argument("--rule", choices=RULES, default=shape.rule)
    parser.add_argument(
        "--rate", type=int, default=shape.rate, help="pods created a second; 0: all before"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often each runs; the median is told"
    )
    parser.add_argument("--kwok", action="store_true", help="make the pods run")
    parser.add_argument("--claims", action="store_true", help="give each pod a claim of a device")
    parser.add_argument(
        "--queues", type=int, default=0, help="run it with so many queues, too, in turns"
    )
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
