"""`python -m bench`: run the contestants, print a table, and write JSON if asked to."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import run
from bench.run import Result
from bench.shape import Shape

COLUMNS = {
    "contestant": "contestant",
    "bound": "bound",
    "pods_per_second": "pods/s",
    "seconds_from_start": "s to the last",
    "scheduler_cpu_ms": "CPU ms/pod",
    "api_server_cpu_ms": "API server ms/pod",
    "peak_megabytes": "peak MB",
}


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    shape = Shape(arguments.gangs, arguments.size, arguments.nodes)
    names = arguments.contestants or list(run.CONTESTANTS)
    results = [run.run(each, run.CONTESTANTS[each], shape, _say) for each in names]
    Console().print(_table(shape, results))
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(each) for each in results], indent=2) + "\n")
    return 0


def _table(shape: Shape, results: list[Result]) -> Table:
    table = Table(title=f"drain: {shape}")
    for title in COLUMNS.values():
        table.add_column(title, justify="left" if title == "contestant" else "right")
    for result in results:
        table.add_row(*(str(asdict(result)[each]) for each in COLUMNS))
    return table


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("contestants", nargs="*", choices=[*run.CONTESTANTS, []])
    parser.add_argument("--gangs", type=int, default=250)
    parser.add_argument("--size", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--json", type=Path, help="write the figures here")
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
