"""The operator as a process, in which decisions on some gangs, or all cycles, take long.

Run by its path: `python -P slow_operator.py [--cycles SECONDS | --never-cut] FLAG...`. A decision
on a gang named `short` or `long` takes as many seconds of CPU as `GANGS` says.
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any, Final
from unittest import mock

from gang_scheduler import cli, current_work, scheduling_loop
from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.scheduler import cycle, eligibility

GANGS: Final = {"short": 3, "long": 3600}


def work(clock: Callable[[], float], seconds: float) -> None:
    """Keep the thread busy until the clock has gone on by so many seconds."""
    until = clock() + seconds
    while clock() < until:
        pass


def hard_gangs() -> Any:
    """Let decisions on gangs of these names take long."""
    check = eligibility.check

    def slowly(group: GangGroup, *others: Any) -> eligibility.Verdict:
        work(time.thread_time, GANGS.get(group.gangs[0].key.name, 0) * (group.problem is None))
        return check(group, *others)

    return mock.patch.object(eligibility, "check", slowly)


def long_cycles(seconds: float) -> Any:
    """Let each cycle with a gang take so long."""

    def slowly(snapshot: Any, *others: Any, **looking_on: Any) -> Any:
        work(time.monotonic, seconds * bool(snapshot.groups))
        return cycle.schedule(snapshot, *others, **looking_on)

    return mock.patch.object(scheduling_loop, "schedule", slowly)


def main() -> None:
    """Run the operator with the rest of the flags."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--cycles", type=float, default=0.0)
    parser.add_argument("--never-cut", action="store_true")
    flags, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    cut = float("inf") if flags.never_cut else current_work.CUT_SECONDS
    with (
        mock.patch.object(current_work, "CUT_SECONDS", cut),
        long_cycles(flags.cycles) if flags.cycles else hard_gangs(),
    ):
        cli.main()


if __name__ == "__main__":
    main()
