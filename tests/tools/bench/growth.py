"""`python -m tools.bench.growth`: how a cycle's cost grows with nodes, gangs and running pods.

No API server: cycles on a cache that is told of everything (`large_cluster`, which says what waits
in each case). CPU milliseconds of the first cycle, to which all gangs are new, and of the steps of
later ones: taking the snapshot, deciding, and telling (verdicts, Events and statuses of which
nothing is new). `growth` is how much more the three cost together than in the row above, divided by
how much larger the cluster is: 1.0 is linear.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from support.large_cluster import CASES, LargeCluster, Scale
from tools.bench import collector

STEPS: Final = ("snapshot", "decide", "tell", "all")
AXES: Final[Mapping[str, Sequence[Scale]]] = {
    "nodes": [Scale(nodes=number) for number in (1_000, 5_000, 20_000)],
    "gangs": [Scale(gangs=number) for number in (100, 1_000, 10_000)],
    "running": [Scale(running=number) for number in (0, 5_000, 50_000)],
    "outranking": [Scale(outranking=number) for number in (1, 10, 100)],
}
ONLY_IN: Final = {"outranking": "priority"}
WIDTH: Final = 124
LEAST_ROUNDS, MOST_ROUNDS, MOST_SECONDS = 2, 20, 0.6


class Timing(NamedTuple):
    """CPU milliseconds: of the first cycle, and by step the percentiles of later ones."""

    first: float
    later: Mapping[str, Sequence[float]]


def measure(case: str, scale: Scale) -> Timing:
    """Make cycles on one cluster. The second, to which something is new as well, is left out."""
    cluster = LargeCluster(case, scale)
    collector.settle()
    first = _round(cluster)[-1]
    asyncio.run(cluster.cycle())
    collector.settle()
    rounds: list[list[float]] = []
    started = time.process_time()
    while len(rounds) < LEAST_ROUNDS or (
        len(rounds) < MOST_ROUNDS and time.process_time() - started < MOST_SECONDS
    ):
        rounds.append(_round(cluster))
    later = {
        step: statistics.quantiles(times, n=100, method="inclusive")
        for step, times in zip(STEPS, zip(*rounds, strict=True), strict=True)
    }
    return Timing(first, later)


def _round(cluster: LargeCluster) -> list[float]:
    cluster.happens()
    moments = [time.process_time()]
    snapshot = cluster.snapshot()
    moments.append(time.process_time())
    plan = cluster.decide(snapshot)
    moments.append(time.process_time())
    asyncio.run(cluster.tell(plan))
    moments.append(time.process_time())
    steps = [(after - before) * 1000 for before, after in pairwise(moments)]
    return [*steps, sum(steps)]


def _rows(case: str, axes: Sequence[str]) -> Iterator[tuple[str, ...]]:
    known: dict[Scale, Timing] = {}
    for axis in (each for each in axes if ONLY_IN.get(each, case) == case):
        before = None
        for scale in AXES[axis]:
            timing = known[scale] = known.get(scale) or measure(case, scale)
            number = getattr(scale, axis)
            growth = _growth(timing, number, *before) if before and before[1] else "-"
            before = (timing, number)
            later = (timing.later[step] for step in STEPS)
            figures = (f"{times[49]:.1f} / {times[98]:.1f}" for times in later)
            yield case, axis, f"{number:,}", f"{timing.first:.0f}", *figures, growth


def _growth(timing: Timing, number: int, before: Timing, number_before: int) -> str:
    more = timing.later["all"][49] / before.later["all"][49]
    return f"{more / (number / number_before):.2f}"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.growth", description=__doc__)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--axis", choices=AXES, action="append")
    arguments = parser.parse_args()
    base = Scale()
    table = Table(
        title="one cycle, CPU ms (p50 / p99)",
        caption=f"otherwise {base.nodes:,} nodes, {base.gangs:,} gangs, {base.running:,} running, "
        f"{base.outranking} outranking",
    )
    for title in ("case", "of", "", "first", *STEPS, "growth"):
        justify: Literal["left", "right"] = "left" if title in ("case", "of") else "right"
        table.add_column(title, justify=justify, no_wrap=True)
    for case in arguments.case or CASES:
        for row in _rows(case, arguments.axis or list(AXES)):
            table.add_row(*row)
        table.add_section()
    Console(width=WIDTH).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
