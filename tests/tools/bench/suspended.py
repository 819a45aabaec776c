"""`python -m tools.bench.suspended`: what it costs that many Jobs wait suspended in queues.

No API server: a cache that is told of everything, as in `tools.bench.queues`. The queues share all
that the nodes have. As many Jobs are let start as fit, the others wait for quota, without pods.

| figure   | CPU milliseconds, or MB                                                          |
|----------|----------------------------------------------------------------------------------|
| read     | to read a Job, on average                                                        |
| first    | the first cycle after all has been read                                          |
| nothing  | a cycle to which nothing has changed                                             |
| one ends | a cycle before which a Job that was let start is gone: its quota goes to another |
| memory   | resident for the Jobs that wait, above what there was before they were read      |
"""

import argparse
import gc
import logging
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import structlog
from rich.console import Console
from rich.table import Table

from gang_scheduler import from_settings
from gang_scheduler.model.api_words import ManagedKind
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state.changes import Changes
from support import api_objects, applying, cache_feeding
from support.suspended_jobs import Starts, job, our_queue, template
from tools.bench import collector
from tools.bench.queues import CREATED, START, resident

CPUS_OF_NODE: Final = 8
SHAPES: Final = 8
Body = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much there is."""

    jobs: int = 10_000
    members: int = 64
    queues: int = 20
    nodes: int = 1_000


class Figures(NamedTuple):
    """CPU milliseconds of reading a Job and of cycles, megabytes, and how many Jobs started."""

    read: float
    first: float
    nothing: Sequence[float]
    one_ends: Sequence[float]
    memory: float
    started: int


class Waiting:
    """A cluster in which Jobs wait suspended, and the operator's synchronous parts."""

    def __init__(self, scale: Scale) -> None:
        self._scale = scale
        self._now = START
        settings = Policy(manage_jobs=tuple(ManagedKind))
        self._cache, self._profile = (
            from_settings.cache(settings, Changes()),
            from_settings.profile(settings),
        )
        self._cache.gang_queue.expect_nothing()
        self._handlers = cache_feeding.event_handlers(self._cache)
        self.writes = Starts()
        allocatable = {"cpu": str(CPUS_OF_NODE), "memory": "256Gi", "pods": "110"}
        for number in range(scale.nodes):
            self._tell("ADDED", api_objects.node_body(f"node-{number}", allocatable=allocatable))
        quota = scale.nodes * CPUS_OF_NODE // scale.queues
        for number in range(scale.queues):
            self._tell("ADDED", our_queue(f"q{number}", quota, borrowing={"enabled": True}))

    def submit(self) -> None:
        """Let all Jobs be seen."""
        for number in range(self._scale.jobs):
            self._tell("ADDED", self._job(number))

    def end(self, name: str) -> None:
        """Let a Job be gone that was let start."""
        self._now += 1
        self._tell("DELETED", self._job(int(name.removeprefix("job-"))))

    def cycle(self) -> None:
        """Make a cycle, and take in what it decides."""
        plan = schedule(self._cache.snapshot(self._now), self._profile)
        applying.take_in(self._cache, plan, self._now, self.writes)

    def check(self) -> None:
        """Raise AssertionError unless each queue lets its oldest Jobs of a shape start first."""
        started: dict[tuple[int, int], list[int]] = defaultdict(list)
        for each in self.writes.admissions:
            number = int(each.workload.name.removeprefix("job-"))
            started[number % self._scale.queues, self._shape(number)].append(number)
        assert started
        assert all(numbers == sorted(numbers) for numbers in started.values())

    def _shape(self, number: int) -> int:
        return number // self._scale.queues % SHAPES

    def _job(self, number: int) -> Body:
        minutes, seconds = divmod(number, 60)
        hours, minutes = divmod(minutes, 60)
        of = template(memory=f"{1 + self._shape(number)}Gi")
        body = job(
            f"job-{number}", self._scale.members, queue=f"q{number % self._scale.queues}", of=of
        )
        body["metadata"]["creationTimestamp"] = CREATED.format(hours % 24, minutes, seconds)
        return body

    def _tell(self, change: str, body: Body) -> None:
        cache_feeding.tell(self._handlers, change, body)


def measure(scale: Scale, rounds: int) -> Figures:
    """Measure it, in this process."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    cluster = Waiting(scale)
    gc.collect()
    before = resident()
    started = time.process_time()
    cluster.submit()
    read = (time.process_time() - started) * 1000 / scale.jobs
    collector.settle()
    first = _timed(cluster)
    _timed(cluster)
    gc.collect()
    memory = resident() - before
    nothing, one_ends = [], []
    for each in list(cluster.writes.admissions)[:rounds]:
        nothing.append(_timed(cluster))
        number = len(cluster.writes.admissions)
        cluster.end(each.workload.name)
        one_ends.append(_timed(cluster))
        assert len(cluster.writes.admissions) > number
    cluster.check()
    return Figures(read, first, nothing, one_ends, memory, len(cluster.writes.admissions))


def _timed(cluster: Waiting) -> float:
    started = time.process_time()
    cluster.cycle()
    return (time.process_time() - started) * 1000


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in vars(Scale()).items():
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--rounds", type=int, default=10, help="how often a Job ends")
    given = vars(parser.parse_args())
    rounds = given.pop("rounds")
    found = measure(Scale(**given), rounds)
    table = Table("read a Job", "first", "nothing", "one ends", "memory", "let start")
    table.add_row(
        f"{found.read:.2f} ms",
        f"{found.first:.0f} ms",
        f"{statistics.median(found.nothing):.1f} ms",
        f"{statistics.median(found.one_ends):.0f} ms",
        f"{found.memory:.0f} MB",
        str(found.started),
    )
    Console().print(table)


if __name__ == "__main__":
    main()
