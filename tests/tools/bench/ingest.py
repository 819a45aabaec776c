"""`python -m tools.bench.ingest`: the CPU that each source takes for an event of a pod.

The pods are another scheduler's, so that nothing is decided and nothing written. The whole operator
runs, beside an API server of its own: first it lists the pods, then each of them changes a label.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from gang_scheduler.settings.choices import PodSource
from tools import controlplane
from tools.controlplane import ControlPlane, Options, Scheduler
from tools.controlplane.access import Client

OPTIONS: Final = Options(kwok=False, controller_manager=False, api_priority_and_fairness=False)
PODS: Final = "/api/v1/namespaces/default/pods"
WRITERS: Final = 8
SETTLE_SECONDS: Final = 3.0
"""Kopf's workers live on for a moment after the last event."""

Write = Callable[[Client, Any], object]


@dataclass(frozen=True)
class Cost:
    """Milliseconds of CPU: of the start with all lists, and of a pod's event afterwards."""

    source: str
    start: float
    event: float
    peak_megabytes: float


def main() -> int:
    """Measure both sources and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.ingest", description=__doc__)
    parser.add_argument("--pods", type=int, default=5000)
    count = parser.parse_args().pods
    with controlplane.start(OPTIONS) as plane:
        _at_once(plane, range(count), lambda client, i: client.request("POST", PODS, _pod(i)))
        costs = [_cost(plane, source) for source in PodSource]
    Console().print(_table(count, costs))
    return 0


def _cost(plane: ControlPlane, source: PodSource) -> Cost:
    pods = plane.request("GET", PODS)["items"]
    with Scheduler(plane, f"--source={source}", name=source) as scheduler:
        time.sleep(SETTLE_SECONDS)
        before, seen = plane.cpu_seconds(source), scheduler.metric("pgs_objects_seen_total")
        for pod in pods:
            pod["metadata"]["labels"] = {"seen-by": source}
        _at_once(plane, pods, _put)
        while scheduler.metric("pgs_objects_seen_total") < seen + len(pods):
            time.sleep(SETTLE_SECONDS)
        time.sleep(SETTLE_SECONDS)
        return Cost(
            source,
            1000 * before,
            1000 * (plane.cpu_seconds(source) - before) / len(pods),
            plane.peak_memory_bytes(source) / 1e6,
        )


def _at_once(plane: ControlPlane, objects: Sequence[Any], write: Write) -> None:
    """Do a write for each object, several at a time."""

    def work(first: int) -> None:
        with Client(plane.access) as client:
            for each in objects[first::WRITERS]:
                write(client, each)

    with ThreadPoolExecutor(WRITERS) as writers:
        list(writers.map(work, range(WRITERS)))


def _put(client: Client, pod: Any) -> None:
    client.request("PUT", f"{PODS}/{pod['metadata']['name']}", pod).check()


def _pod(number: int) -> dict[str, Any]:
    requests = {"cpu": "1", "memory": "1Gi"}
    container = {"name": "main", "image": "example.com/none", "resources": {"requests": requests}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"pod-{number}"},
        "spec": {"schedulerName": "nobody", "containers": [container]},
    }


def _table(pods: int, costs: Sequence[Cost]) -> Table:
    table = Table(title=f"{pods} pods, listed and then changed once")
    for title in ("source", "CPU ms of the start", "CPU ms an event", "peak MB"):
        table.add_column(title, justify="left" if title == "source" else "right")
    for cost in costs:
        figures = (f"{cost.start:.0f}", f"{cost.event:.3f}", f"{cost.peak_megabytes:.0f}")
        table.add_row(cost.source, *figures)
    return table


if __name__ == "__main__":
    sys.exit(main())
