"""`python -m tools.bench.report RESULTS.json`: what the bench has measured, for people.

Prints Markdown, and writes pictures with --images DIRECTORY. Of several files the last one counts
for what it has; so a part of the programme can be measured again.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tools.bench import charts, results, tables
from tools.bench.results import Results


def main() -> int:
    """Print, and draw."""
    arguments = _arguments()
    read = [results.read(path) for path in arguments.results]
    print("\n".join(text_of(read)))
    if arguments.images:
        for path in charts.draw((each for file in read for each in file.results), arguments.images):
            print(f"written: {path}", file=sys.stderr)
    return 0


def text_of(files: Sequence[Results]) -> Iterator[str]:
    """Yield the report, paragraph by paragraph."""
    found = tables.latest(each for file in files for each in file.results)
    yield from dict.fromkeys(f"{file.setting}.\n" for file in files)
    yield "Pods/s; in brackets p99 of gangs in ms where they come while the scheduler runs, seconds"
    yield "to the last binding of a single gang, and last the scheduler's CPU in ms a pod:\n"
    yield tables.combined(found)
    yield ""
    yield tables.one_by_one(found)
    for problem in tables.problems(found):
        yield f"\nWrong in the end: {problem}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.report", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, help="what bench --json has written")
    parser.add_argument("--images", type=Path, help="write the pictures into this directory")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
