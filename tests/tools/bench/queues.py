"""`python -m tools.bench.queues`: what a cycle costs with many queues, beside the same without.

No API server: a cache that is told of everything, as in `tools.bench.growth`. Queues in three
levels below the root share all that the nodes have, gangs of four run in all of them, and gangs of
eight shapes wait for quota. The same load without queues waits for room. Each is measured in a
process of its own, in turns.

| figure   | CPU milliseconds, or MB                                                         |
|----------|---------------------------------------------------------------------------------|
| first    | the first cycle after all has been read                                         |
| nothing  | a cycle to which nothing has changed                                            |
| one ends | a cycle before which one gang has ended: its room, or quota, goes to another    |
| memory   | resident when all is read and decided once                                      |
"""

import argparse
import asyncio
import gc
import logging
import multiprocessing
import os
import resource
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import structlog
from rich.console import Console
from rich.table import Table

from gang_scheduler.api.annotations import QUEUE
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import api_objects, applying, builders, cache_feeding, parts
from tools.bench import collector

SIZE: Final = 4
SHAPES: Final = 8
CPUS_OF_POD: Final = 4
PODS_OF_NODE: Final = 4
START: Final = 1_767_268_800
CREATED: Final = "2026-01-01T{:02}:{:02}:{:02}Z"
MB: Final = 2**20
Body = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much there is. Leaves of the tree: `fan_out` to the power of three."""

    gangs: int = 10_000
    fan_out: int = 10
    nodes: int = 5_000

    @property
    def leaves(self) -> int:
        """How many queues take gangs."""
        return self.fan_out**3

    @property
    def running(self) -> int:
        """How many gangs fill all nodes."""
        return self.nodes * PODS_OF_NODE // SIZE


class Figures(NamedTuple):
    """CPU milliseconds of cycles, and megabytes."""

    first: float
    nothing: Sequence[float]
    one_ends: Sequence[float]
    memory: float
    peak: float


class QueuedCluster:
    """A full cluster with gangs that wait, and the operator's synchronous parts."""

    def __init__(self, scale: Scale, *, queues: bool) -> None:
        self._scale, self._queues = scale, queues
        self._now = START
        self._cache = Cache([builders.SCHEDULER], Changes())
        self._handlers = cache_feeding.event_handlers(self._cache)
        api = FakeApi(FakeCluster())
        self._gang_events = parts.gang_events(self._cache, parts.events(api, self._clock))
        self._statuses = parts.status_writer(api, self._cache, clock=self._clock, concurrency=1)
        for body in self._objects():
            self._tell("ADDED", body)

    def end(self, number: int) -> None:
        """Let a running gang end."""
        self._now += 1
        for body in self._running(number):
            self._tell("DELETED", body)

    def start(self, number: int) -> None:
        """Let it run again, as if it had not ended."""
        self._now += 1
        for body in self._running(number):
            self._tell("ADDED", body)

    def cycle(self) -> Plan:
        """Make a cycle as the loop does. Verdicts are noted, and nothing is carried out."""
        plan = schedule(self._cache.snapshot(self._now), PROFILES["binpack"])
        asyncio.run(self._take_in(plan))
        return plan

    def tell(self) -> None:
        """Write the statuses that are new, as a task of its own does in the operator."""
        asyncio.run(self._statuses.flush())

    async def _take_in(self, plan: Plan) -> None:
        verdicts = replace(plan, placed=(), preemptions=())
        taken = applying.take_in(self._cache, verdicts, self._now, applying.WritesNothing())
        self._gang_events.planned(plan, self._now, taken.unchanged)

    def _clock(self) -> float:
        return self._now

    def _tell(self, change: str, body: Body) -> None:
        cache_feeding.tell(self._handlers, change, body)

    def _objects(self) -> Iterator[Body]:
        if self._queues:
            yield from _queues(self._scale)
        allocatable = {"cpu": str(CPUS_OF_POD * PODS_OF_NODE), "memory": "256Gi", "pods": "110"}
        for number in range(self._scale.nodes):
            yield api_objects.node_body(f"node-{number}", allocatable=allocatable)
        for number in range(self._scale.running):
            yield self._group(f"run-{number}", self.leaf_of(number, runs=True), number)
            yield from self._running(number)
        for number in range(self._scale.gangs):
            yield self._group(f"wait-{number}", self.leaf_of(number, runs=False), number)
            yield from self._pods(f"wait-{number}", 1 + number // self._scale.leaves % SHAPES)

    def leaf_of(self, number: int, *, runs: bool) -> int:  # noqa: ARG002 - others tell them apart.
        """Return the number of the queue of a gang that runs, or waits."""
        return number % self._scale.leaves

    def _group(self, name: str, leaf: int, number: int) -> Body:
        # Gangs of several shapes in each queue, created one after the other.
        minutes, seconds = divmod(number, 60)
        hours, minutes = divmod(minutes, 60)
        metadata: Body = {"creationTimestamp": CREATED.format(hours % 24, minutes, seconds)}
        if self._queues:
            metadata["labels"] = {QUEUE: _leaf(leaf)}
        return api_objects.pod_group_body(name, min_member=SIZE, metadata=metadata)

    def _running(self, number: int) -> Iterator[Body]:
        status = {"phase": "Running", "startTime": CREATED.format(0, 0, 0)}
        queue = _leaf(self.leaf_of(number, runs=True)) if self._queues else ""
        for rank, body in enumerate(self._pods(f"run-{number}", 1)):
            node = (number * SIZE + rank) // PODS_OF_NODE
            body["spec"]["nodeName"] = f"node-{node}"
            body["status"].update(status)
            if queue:
                body["metadata"]["annotations"] = {QUEUE: queue}
            yield body

    def _pods(self, gang: str, memory: int) -> Iterator[Body]:
        requests = {"cpu": str(CPUS_OF_POD), "memory": f"{memory}Gi"}
        for rank in range(SIZE):
            containers = [api_objects.container(requests=requests)]
            yield api_objects.pod_body(f"{gang}-{rank}", gang=gang, containers=containers)


def _queues(scale: Scale) -> Iterator[Body]:
    """Yield three levels of queues, to which all CPUs are promised in equal parts."""
    cpus = scale.nodes * PODS_OF_NODE * CPUS_OF_POD
    for level in range(1, 4):
        count = scale.fan_out**level
        for number in range(count):
            above = _name(level - 1, number // scale.fan_out) if level > 1 else None
            yield {
                "apiVersion": "py-gang-scheduler.io/v1alpha1",
                "kind": "Queue",
                "metadata": {
                    "name": _name(level, number),
                    "uid": _name(level, number),
                    "creationTimestamp": CREATED.format(0, 0, 0),
                },
                "spec": {
                    **({"parent": above} if above else {}),
                    "quota": {"soft": {"cpu": str(cpus // count)}},
                    "borrowing": {"enabled": True},
                },
            }


def _name(level: int, number: int) -> str:
    return f"level-{level}-{number}"


def _leaf(number: int) -> str:
    return _name(3, number)


def measure(scale: Scale, rounds: int, *, queues: bool) -> Figures:
    """Measure one of the two, in this process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    cluster = QueuedCluster(scale, queues=queues)
    collector.settle()
    first = _timed(cluster)
    gc.collect()
    memory, peak = resident(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # The next ones try the gangs that the first has left, and keep what is known of each.
    while cluster.cycle().untried:
        cluster.tell()
    cluster.tell()
    collector.settle()
    nothing, one_ends = [], []
    for number in range(rounds):
        nothing.append(_timed(cluster))
        cluster.end(number)
        one_ends.append(_timed(cluster, must_place=1))
        cluster.start(number)
        _timed(cluster)
    return Figures(first, nothing, one_ends, memory, peak)


def _timed(cluster: QueuedCluster, must_place: int = 0) -> float:
    started = time.process_time()
    plan = cluster.cycle()
    took = (time.process_time() - started) * 1000
    cluster.tell()
    if len(plan.placed) != must_place:
        sys.exit(f"{len(plan.placed)} gangs were placed and not {must_place}")
    return took


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MB


def main() -> int:
    """Measure both, each in a process of its own, and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.queues", description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--gangs", type=int, default=Scale.gangs)
    parser.add_argument("--fan-out", type=int, default=Scale.fan_out)
    parser.add_argument("--nodes", type=int, default=Scale.nodes)
    asked = parser.parse_args()
    scale = Scale(asked.gangs, asked.fan_out, asked.nodes)
    table = Table(
        title="one cycle, CPU ms (median / most), and memory in MB",
        caption=f"{scale.gangs:,} gangs of {SIZE} wait, {scale.running:,} run, "
        f"{scale.leaves:,} leaves, {scale.nodes:,} nodes",
    )
    for title in ("", "first", "nothing", "one ends", "memory", "peak"):
        table.add_column(title, justify="right" if title else "left", no_wrap=True)
    for name, queues in (("without queues", False), ("with queues", True)):
        table.add_row(name, *_cells(_measured_apart(scale, asked.rounds, queues=queues)))
    Console(width=100).print(table)
    return 0


def _measured_apart(scale: Scale, rounds: int, *, queues: bool) -> Figures:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measure, scale, rounds, queues=queues).result()


def _cells(found: Figures) -> Iterator[str]:
    yield f"{found.first:,.0f}"
    for times in (found.nothing, found.one_ends):
        yield f"{statistics.median(times):,.1f} / {max(times):,.1f}"
    yield from (f"{each:,.0f}" for each in (found.memory, found.peak))


if __name__ == "__main__":
    sys.exit(main())
