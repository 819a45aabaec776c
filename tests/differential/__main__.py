"""`python -m differential`: compare, print every fault and the figures, and fail on any fault."""

import argparse
import sys

from differential import run
from differential.features import EVERY


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    seeds = range(arguments.seed, arguments.seed + arguments.cases)
    _say(f"cases {seeds.start} to {seeds.stop - 1}; one of them again: --cases 1 --seed N")
    features = arguments.features.split(",") if arguments.features else tuple(EVERY)
    report = run.compare(seeds, _say, features)
    print("\n".join(report.lines()))
    return 1 if report.faults else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m differential", description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument(
        "--features", help=f"some of {', '.join(EVERY)}; other cases than without it"
    )
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
