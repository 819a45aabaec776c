"""`python -m tools.bench.growth`: how a cycle's cost grows with nodes, gangs and running pods.

No API server: cycles on a cache that is told of everything (`large_cluster` and
`large_device_cluster`, which say what waits in each case). CPU milliseconds of the first cycle, to
which all gangs are new, and of the steps of later ones: taking the snapshot, deciding, and telling
(verdicts, Events and statuses of which nothing is new). `cycles` is how many it takes until every
gang has been tried once. `growth` is how much more the three steps cost together than in the row
above, divided by how much larger the cluster is: 1.0 is linear.
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

from support import large_cluster, large_device_cluster
from support.large_cluster import LargeCluster, Scale
from support.large_device_cluster import LargeDeviceCluster
from tools.bench import collector

STEPS: Final = ("snapshot", "decide", "tell", "all")
AXES: Final[Mapping[str, Sequence[Scale]]] = {
    "nodes": [Scale(nodes=number) for number in (1_000, 5_000, 20_000)],
    "gangs": [Scale(gangs=number) for number in (100, 1_000, 10_000)],
    "running": [Scale(running=number) for number in (0, 5_000, 50_000)],
    "outranking": [Scale(outranking=number) for number in (1, 10, 100)],
}
CASES: Final = (*large_cluster.CASES, *large_device_cluster.CASES)
ONLY_IN: Final = {
    "outranking": ("priority", "claims priority", "extended priority"),
    "running": large_cluster.CASES,
}
WIDTH: Final = 124
LEAST_ROUNDS, MOST_ROUNDS, MOST_SECONDS = 2, 20, 0.6
MOST_CYCLES: Final = 40


class Timing(NamedTuple):
    """CPU milliseconds: of the first cycle, and by step the percentiles of later ones.

    `cycles` are those until every gang was tried.
    """

    first: float
    cycles: int
    later: Mapping[str, Sequence[float]]


def measure(case: str, scale: Scale) -> Timing:
    """Make cycles on one cluster. Those to which something is new as well are left out."""
    cluster = _cluster(case, scale)
    collector.settle()
    first = _round(cluster)[-1]
    cycles = 2
    while asyncio.run(cluster.cycle()).untried and cycles < MOST_CYCLES:
        cycles += 1
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
    return Timing(first, cycles, later)


def _cluster(case: str, scale: Scale) -> LargeCluster:
    of_devices = case in large_device_cluster.CASES
    return LargeDeviceCluster(case, scale) if of_devices else LargeCluster(case, scale)


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
    for axis in (each for each in axes if case in ONLY_IN.get(each, CASES)):
        before = None
        for scale in AXES[axis]:
            timing = known[scale] = known.get(scale) or measure(case, scale)
            number = getattr(scale, axis)
            growth = _growth(timing, number, *before) if before and before[1] else "-"
            before = (timing, number)
            later = (timing.later[step] for step in STEPS)
            figures = (f"{times[49]:.1f} / {times[98]:.1f}" for times in later)
            yield (
                case,
                axis,
                f"{number:,}",
                f"{timing.first:.0f}",
                str(timing.cycles),
                *figures,
                growth,
            )


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
    for title in ("case", "of", "", "first", "cycles", *STEPS, "growth"):
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
