"""`python -m tools.bench.reclaim`: what a cycle costs in which all that wait may evict from others.

The cluster of `tools.bench.queues`, but half of the queues use all nodes, twice what each was
promised, and the gangs of the other half wait, each within what its queue was promised. In the
first case each takes that back; in the others something forbids it: a fence, a veto, a least time
to run, or the priority. No API server: only `schedule()`, on a snapshot.
"""

import argparse
import multiprocessing
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from tools.bench import collector
from tools.bench.queues import SIZE, START, Body, QueuedCluster, Scale

RULES: Final[dict[str, dict[int, dict[str, Any]]]] = {
    "all may": {},
    "fences": {1: {"fence": True}},
    "vetoes": {1: {"allowPreemption": False}},
    "all too young": {2: {"minRuntime": "1h"}},
    "no lower priority": {3: {"reclaim": "LowerPriority"}},
}
"""What the queues of a level say of evictions, by case."""


class ContendedCluster(QueuedCluster):
    """The full cluster in which half of the queues borrow, and the others want it back."""

    def __init__(self, scale: Scale, case: str) -> None:
        self._case = case
        super().__init__(scale, queues=True)

    def snapshot(self) -> Any:
        """Return what a cycle sees."""
        return self._cache.snapshot(self._now)

    def leaf_of(self, number: int, *, runs: bool) -> int:
        """Let the first half of the queues run all gangs, and the others wait."""
        half = self._scale.leaves // 2
        return number % half + (0 if runs else half)

    def _objects(self) -> Iterator[Body]:
        rules = RULES[self._case]
        for body in super()._objects():
            if body["kind"] == "Queue":
                level = int(body["metadata"]["name"].split("-")[1])
                body["spec"]["preemption"] = rules.get(level, {})
            yield body

    def _running(self, number: int) -> Iterator[Body]:
        # For less than the least time to run.
        began = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START - 600))
        for body in super()._running(number):
            body["status"]["startTime"] = began
            yield body


def measure(scale: Scale, case: str, rounds: int) -> tuple[int, list[float]]:
    """Return how many gangs evict, and CPU milliseconds of the first cycle and of those after."""
    snapshot = ContendedCluster(scale, case).snapshot()
    collector.settle()
    taken = []
    for _ in range(rounds + 1):
        started = time.process_time()
        plan = schedule(snapshot, PROFILES["binpack"])
        taken.append((time.process_time() - started) * 1000)
    return len(plan.preemptions), taken


def main() -> int:
    """Measure each case in a process of its own, and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.reclaim", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gangs", type=int, default=1_000)
    parser.add_argument("--fan-out", type=int, default=Scale.fan_out)
    parser.add_argument("--nodes", type=int, default=Scale.nodes)
    parser.add_argument("--case", choices=RULES, action="append")
    asked = parser.parse_args()
    scale = Scale(asked.gangs, asked.fan_out, asked.nodes)
    table = Table(
        title="one cycle, CPU ms",
        caption=f"{scale.gangs:,} gangs of {SIZE} wait, {scale.running:,} run, "
        f"{scale.leaves:,} leaves, {scale.nodes:,} nodes",
    )
    for title in ("", "evict", "first", "median", "most"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for case in asked.case or RULES:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            number, taken = pool.submit(measure, scale, case, asked.rounds).result()
        after = taken[1:]
        figures = (taken[0], statistics.median(after), max(after))
        table.add_row(case, f"{number:,}", *(f"{each:,.0f}" for each in figures))
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
