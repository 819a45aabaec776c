"""`python -m bench`: run the contestants on shapes, print a table each, and write JSON.

Without options the whole programme, an hour; `--quick` a part of it in under five minutes.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from bench.contestants import CONTESTANTS
from bench.run import Result, run
from bench.shape import RULES, Shape

COLUMNS: Final = {
    "contestant": "contestant",
    "bound": "bound",
    "pods_per_second": "pods/s",
    "seconds_to_last": "s to the last",
    "p50": "p50 ms",
    "p99": "p99 ms",
    "scheduler_cpu_ms": "CPU ms/pod",
    "api_server_cpu_ms": "API server ms/pod",
    "peak_megabytes": "peak MB",
    "requests_a_pod": "requests/pod",
}
OURS: Final = ("py-gang-scheduler", "py-gang-scheduler, reflector")
KUBE: Final = ("kube-scheduler, no gangs", "kube-scheduler, native gangs")
EVERYBODY: Final = tuple(CONTESTANTS)
Programme = tuple[tuple[Shape, tuple[str, ...]], ...]
WHOLE: Final[Programme] = (
    (Shape(), EVERYBODY),
    (Shape(20, 250), (*OURS, KUBE[1])),
    (Shape(1, 5000), (*OURS, KUBE[1])),
    (Shape(5000, 1), (*OURS, KUBE[0])),
    (Shape(rate=300), (*OURS, KUBE[1])),
    (Shape(rate=1000), (*OURS, KUBE[1])),
    (Shape(nodes=5000), (*OURS, KUBE[1])),
    (Shape(rule="rack"), (*OURS, KUBE[1])),
    (Shape(rule="anti-affinity"), (*OURS, KUBE[0])),
    (Shape(rule="spread"), (*OURS, KUBE[0])),
    (Shape(kwok=True), (*OURS, KUBE[1])),
)
QUICK: Final[Programme] = (
    (Shape(), ("ceiling", *OURS, KUBE[1])),
    (Shape(50, 20, 200, rate=300), OURS),
)


def main() -> int:
    """Run, print, and fail if a final state was wrong; never because of time."""
    arguments = _arguments()
    results = []
    for shape, names in _programme(arguments):
        results += [run(name, CONTESTANTS[name], shape, _say) for name in names]
        Console(width=150).print(_table(shape, results[-len(names) :]))
        if arguments.json:
            found = [asdict(each) for each in results]
            arguments.json.write_text(json.dumps(found, indent=2) + "\n")
    wrong = [
        f"{each.contestant}, {each.shape}: {text}" for each in results for text in each.problems
    ]
    for line in wrong:
        _say(line)
    return int(any("kube-scheduler" not in line for line in wrong))


def _programme(arguments: argparse.Namespace) -> Iterator[tuple[Shape, tuple[str, ...]]]:
    if arguments.quick:
        yield from QUICK
    elif arguments.whole:
        yield from WHOLE
    else:
        names = ("gangs", "size", "nodes", "rule", "rate", "kwok")
        shape = Shape(**{name: getattr(arguments, name) for name in names})
        chosen = tuple(arguments.contestants) or EVERYBODY
        yield shape, tuple(each for each in chosen if CONTESTANTS[each].live or not shape.rate)


def _table(shape: Shape, results: list[Result]) -> Table:
    table = Table(title=str(shape))
    for title in COLUMNS.values():
        table.add_column(title, justify="left" if title == "contestant" else "right")
    for result in results:
        found = asdict(result)
        cells = ("" if found[each] is None else str(found[each]) for each in COLUMNS)
        table.add_row(*cells)
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
    parser.add_argument("--kwok", action="store_true", help="make the pods run")
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
