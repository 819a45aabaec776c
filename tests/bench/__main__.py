"""`python -m bench`: run the contestants on shapes, print a table each, and write JSON.

Without options the whole programme, an hour; `--quick` a part of it in under five minutes.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from bench import results, tables
from bench.contestants import CONTESTANTS
from bench.results import Result
from bench.run import run
from bench.shape import RULES, Shape

OURS: Final = ("py-gang-scheduler", "py-gang-scheduler, reflector")
KUBE: Final = ("kube-scheduler, no gangs", "kube-scheduler, native gangs")
EVERYBODY: Final = tuple(CONTESTANTS)


class Entry(NamedTuple):
    """Who is compared on a shape, and how often each runs."""

    shape: Shape
    names: tuple[str, ...]
    rounds: int = 1


# Three rounds where the figures of two shapes, or of two contestants, are compared closely.
WHOLE: Final = (
    Entry(Shape(), EVERYBODY, 3),
    Entry(Shape(rule="rack"), (*OURS, KUBE[1]), 3),
    Entry(Shape(nodes=5000), (*OURS, KUBE[1]), 3),
    Entry(Shape(rate=300), (*OURS, KUBE[1]), 3),
    Entry(Shape(rate=1000), (*OURS, KUBE[1])),
    Entry(Shape(20, 250), (*OURS, KUBE[1])),
    Entry(Shape(1, 5000), (*OURS, KUBE[1])),
    Entry(Shape(5000, 1), (*OURS, KUBE[0])),
    Entry(Shape(rule="anti-affinity"), (*OURS, KUBE[0])),
    Entry(Shape(rule="spread"), (*OURS, KUBE[0])),
    Entry(Shape(kwok=True), (*OURS, KUBE[1])),
)
QUICK: Final = (
    Entry(Shape(), ("ceiling", *OURS, KUBE[1])),
    Entry(Shape(50, 20, 200, rate=300), OURS),
)


def main() -> int:
    """Run, print, and fail if a final state was wrong; never because of time."""
    arguments = _arguments()
    setting = results.here_and_now()
    found: list[Result] = []
    for entry in _programme(arguments):
        found += _in_rounds(entry)
        Console(width=160).print(_table(entry.shape, found[-len(entry.names) :]))
        if arguments.json:
            results.write(arguments.json, setting, found)
    wrong = list(tables.problems(found))
    for line in wrong:
        _say(line)
    return int(any("kube-scheduler" not in line for line in wrong))


def _in_rounds(entry: Entry) -> list[Result]:
    """Return the median of each contestant. They take turns: the machine has its moods.

    kube-scheduler runs once: nothing that is said of it depends on a few percent.
    """
    done: dict[str, list[Result]] = {name: [] for name in entry.names}
    for number in range(entry.rounds):
        for name in entry.names:
            if not number or name not in KUBE:
                done[name].append(run(name, CONTESTANTS[name], entry.shape, _say))
    return [results.median(each) for each in done.values()]


def _programme(arguments: argparse.Namespace) -> Iterator[Entry]:
    if arguments.quick:
        yield from QUICK
    elif arguments.whole:
        yield from WHOLE
    else:
        names = ("gangs", "size", "nodes", "rule", "rate", "kwok")
        shape = Shape(**{name: getattr(arguments, name) for name in names})
        chosen = tuple(arguments.contestants) or EVERYBODY
        able = tuple(each for each in chosen if CONTESTANTS[each].live or not shape.rate)
        yield Entry(shape, able, arguments.rounds)


def _table(shape: Shape, found: list[Result]) -> Table:
    table = Table("contestant", title=str(shape))
    for title in tables.COLUMNS:
        table.add_column(title, justify="right")
    for result in found:
        table.add_row(result.contestant, *(cell(result) for cell in tables.COLUMNS.values()))
    return table


def _arguments() -> argparse.Namespace:
    shape = Shape()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
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
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
