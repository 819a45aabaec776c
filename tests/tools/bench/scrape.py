"""`python -m tools.bench.scrape`: how long a scrape of the metrics takes, and what they cost.

A cluster of gangs in queues, without an API server: half of them wait, half run. All gauges are
shown, each tenth gang changes, and the gauges are shown again; then what a scrape reads is written.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from gang_scheduler.model.plan import Plan, Refused
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.queues import (
    Amounts,
    FlavorResource,
    Queue,
    QueueFigures,
    QueueKind,
    QueueRef,
)
from gang_scheduler.model.reasons import Reason
from gang_scheduler.report.gang_metrics import Measures
from gang_scheduler.report.queues.queue_metrics import QueueMetrics
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.exposition import Exposition
from support import builders, cache_feeding
from tools.bench import collector

GANGS: Final = 10_000
MEMBERS: Final = 4
NODES: Final = 1_000
QUEUES: Final = 50
ROUNDS: Final = 10
NOW: Final = 1_000


def milliseconds(work: Callable[[], object]) -> float:
    """Return how much CPU time work took."""
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


class Measured:
    """A cluster of so many gangs, of which every second one runs."""

    def __init__(self, gangs: int) -> None:
        self._cache = Cache([builders.SCHEDULER], Changes())
        self.measures = Measures(self._cache, lambda: NOW)
        for number in range(NODES):
            self._cache.upsert(self._cache.node_store, builders.node(f"n{number}", cpu=64))
        self._gangs = [self._gang(number) for number in range(gangs)]
        self._cache.snapshot(NOW)
        for number in range(0, gangs, 2):
            self._refuse(number)
        self._count(gangs)

    def change(self) -> None:
        """Let every tenth gang be seen again."""
        for pods in self._gangs[::10]:
            self._cache.upsert_pod(replace(pods[0], labels={"changed": str(time.monotonic())}))
        self.measures.gangs.changed(self._cache.gang_queue.changed)
        self._cache.gang_queue.changed.clear()

    def _gang(self, number: int) -> list[Pod]:
        name = f"gang-{number}"
        spec = builders.gang_spec(name, MEMBERS)
        kind = "podgroups.scheduling.sigs.k8s.io"
        cache_feeding.upsert_gang_specs(self._cache, kind, spec.uid, [spec])
        pods = [builders.pod(f"{name}-{each}", gang=name) for each in range(MEMBERS)]
        if number % 2:
            node = f"n{number % NODES}"
            pods = [replace(pod, node=node, phase=PodPhase.RUNNING) for pod in pods]
        for pod in pods:
            self._cache.upsert_pod(pod)
        return pods

    def _refuse(self, number: int) -> None:
        info = self._cache.gang_queue.infos[builders.gang_key(f"gang-{number}")]
        gang = info.as_gang(self._cache.schedulers)
        refused = Refused(gang, Reason.UNSCHEDULABLE, gang.pending)
        self._cache.decisions.refused(refused, NOW)
        self.measures.planned(Plan(refused=(refused,)))

    def _count(self, gangs: int) -> None:
        """Show figures of queues, and count what gangs of these would have left behind."""
        QueueMetrics(self._cache, lambda: NOW).show([_figures(number) for number in range(QUEUES)])
        for number in range(gangs):
            queue = f"queue-{number % QUEUES}"
            metrics.SCHEDULING_SECONDS.labels(queue, "PodGroup", "scheduled").observe(number)
            metrics.WAIT_SECONDS.labels(queue).observe(number)
            metrics.COMPLETION_SECONDS.labels(queue, "PodGroup", "succeeded").observe(number)


def _figures(number: int) -> QueueFigures:
    queue = Queue(QueueRef(QueueKind.QUEUE, f"queue-{number}"))
    of = (FlavorResource("default", name) for name in ("cpu", "nvidia.com/gpu"))
    return QueueFigures(queue, dict.fromkeys(of, Amounts(8000, 4000)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.scrape", description=__doc__)
    parser.add_argument("--gangs", type=int, default=GANGS)
    gangs: int = parser.parse_args(arguments).gangs
    metrics.lead()
    measured = Measured(gangs)
    collector.settle()
    first = milliseconds(measured.measures.show)
    measured.change()
    measured.measures.show()
    shown, scrapes, exposition = [], [], Exposition()
    exposition.text()
    for _ in range(ROUNDS):
        measured.change()
        shown.append(milliseconds(measured.measures.show))
        scrapes.append(milliseconds(exposition.text))
    lines = exposition.text().decode().splitlines()
    series = sum(not line.startswith("#") for line in lines)
    print(f"{gangs} gangs, {series} series")
    print(f"scrape: {statistics.median(scrapes):.1f} ms")
    print(f"gauges, all gangs: {first:.1f} ms; a tenth changed: {statistics.median(shown):.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
