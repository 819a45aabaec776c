"""`python -m tools.bench.start`: a start in a large cluster, and the cost of idling there.

Nodes are full of pods that run, and one gang waits. Reported for each source: seconds from the
start of the process to the first binding, memory at the peak, and then the CPU time of a quiet
minute, as a share of one core.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tools import controlplane
from tools.bench import population
from tools.bench.contestants import CONTESTANTS, OURS, Contestant
from tools.bench.population import CREATORS, PODS
from tools.bench.run import CRDS
from tools.bench.shape import Shape
from tools.controlplane import ControlPlane, Options, audit
from tools.controlplane.access import Access, Client

WAITING: Final = Shape(gangs=1, size=20)
SOURCES: Final = tuple(name for name, each in CONTESTANTS.items() if each.scheduler == OURS)
TIMEOUT_SECONDS: Final = 120.0
QUIET_SECONDS: Final = 60.0
SETTLE_SECONDS: Final = 15.0


def main() -> int:
    """Measure and print."""
    arguments = _arguments()
    options = Options(
        kwok=False, controller_manager=False, audit=True, api_priority_and_fairness=False
    )
    table = Table(title=f"{arguments.pods:,} pods on {arguments.nodes:,} nodes")
    for title in ("source", "s to the first binding", "peak MB", "% of a core when quiet"):
        table.add_column(title, justify="left" if title == "source" else "right")
    with controlplane.start(options) as plane:
        fill(plane, arguments.nodes, arguments.pods)
        for number, name in enumerate(SOURCES):
            _say(f"starting {name}")
            table.add_row(name, *_measured(plane, CONTESTANTS[name], number))
    Console(width=110).print(table)
    return 0


def fill(plane: ControlPlane, nodes: int, pods: int) -> None:
    """Create CRDs, nodes, and pods that run on them."""
    plane.kubectl("apply", "-f", str(CRDS))
    population.create_nodes(plane, Shape(nodes=nodes))
    _say(f"creating {pods} pods")
    turns = [range(first, pods, CREATORS) for first in range(CREATORS)]
    with ThreadPoolExecutor(CREATORS) as creators:
        list(creators.map(lambda turn: _create(plane.access, turn, nodes), turns))


def _create(access: Access, numbers: range, nodes: int) -> None:
    with Client(access) as client:
        for body in _running(numbers, nodes):
            client.request("POST", PODS, body).check()


def _running(numbers: range, nodes: int) -> Iterator[dict[str, Any]]:
    """Yield pods that have a node; half of them are another scheduler's."""
    for number in numbers:
        resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"running-{number}", "labels": {"app": f"app-{number % 500}"}},
            "spec": {
                "schedulerName": OURS if number % 2 else "default-scheduler",
                "nodeName": f"node-{number % nodes}",
                "containers": [{"name": "main", "image": "none", "resources": resources}],
            },
        }


def _measured(plane: ControlPlane, contestant: Contestant, number: int) -> tuple[str, ...]:
    population.create_gang(plane.access, *contestant.dialect(WAITING, number, contestant.scheduler))
    offset, started = audit.end(plane.audit_log), time.time()
    name = contestant.start(plane, WAITING)
    _until(lambda: audit.figures(plane.audit_log, offset).bindings == WAITING.pods)
    figures = audit.figures(plane.audit_log, offset)
    time.sleep(SETTLE_SECONDS)
    before = plane.cpu_seconds(name)
    time.sleep(QUIET_SECONDS)
    quiet = (plane.cpu_seconds(name) - before) / QUIET_SECONDS
    peak = plane.peak_memory_bytes(name) / 1e6
    plane.processes.stop(name, 20.0)
    first = figures.last_at - figures.seconds - started
    return f"{first:.1f}", f"{peak:.0f}", f"{100 * quiet:.2f}"


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("nothing was bound")
        time.sleep(0.2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.start", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5_000)
    parser.add_argument("--pods", type=int, default=50_000)
    return parser.parse_args()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
