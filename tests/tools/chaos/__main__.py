"""`python -m tools.chaos`: let faults loose, say what was seen, and fail on what must not be."""

import argparse
import sys
import time
from pathlib import Path

from tools.chaos import faults, report, workload
from tools.chaos.run import Plan, Seen, run


def main() -> int:
    """Run and print."""
    arguments = _arguments()
    plan = Plan(
        seconds=arguments.seconds,
        seed=arguments.seed,
        faults=_chosen(arguments.faults),
        replicas=arguments.replicas,
        source=arguments.source,
        pace=arguments.pace,
        more_nodes=arguments.more_nodes,
    )
    seen = run(plan, _say, arguments.keep)
    tell(seen)
    return 1 if seen.violations or seen.unsettled else 0


def tell(seen: Seen) -> None:
    """Print what a run came to."""
    for line in report.table(seen.rows):
        print(line)
    for line in report.table_of_times(seen.times):
        print(line)
    met = sum(each.times for each in seen.rows)
    print(f"{met} faults, {seen.pods} pods created by users, {seen.bound} pods bound,", end=" ")
    print(
        f"{seen.writes} writes to pods and the Lease, {seen.restarts} restarts of replicas,",
        end=" ",
    )
    print(f"{seen.begun_anew} watches begun again that had stopped")
    for words in seen.in_part:
        print(f"long in part: {words}")
    for each in seen.violations:
        print(f"VIOLATION: {each.words}")
    for words in seen.unsettled:
        print(f"NOT SETTLED: {words}")


def _chosen(names: list[str]) -> tuple[type[faults.Fault], ...]:
    """Return the faults of these names, or families; all without any."""
    if not names:
        return faults.ALL
    return tuple(
        dict.fromkeys(
            fault
            for name in names
            for fault in (
                faults.FAMILIES[name] if name in faults.FAMILIES else (faults.BY_NAME[name],)
            )
        )
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--faults",
        nargs="*",
        default=[],
        choices=[*faults.FAMILIES, *faults.BY_NAME],
        metavar="NAME",
        help="families or faults; all without it",
    )
    parser.add_argument("--replicas", type=int, choices=(1, 2, 3), default=2)
    parser.add_argument("--source", choices=("kopf", "reflector"), default="kopf")
    parser.add_argument("--pace", type=float, default=workload.PODS_A_SECOND, help="pods a second")
    parser.add_argument(
        "--more-nodes", type=int, default=0, help="nodes that users may not use, only to be many"
    )
    parser.add_argument("--keep", type=Path, help="where to copy the logs of the replicas to")
    return parser.parse_args()


def _say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
