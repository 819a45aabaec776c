"""How Jobs that wait suspended are started: order, requests a Job, memory, and time of cycles.

    python -m tools.bench.starts
    python -m tools.bench.starts --jobs 10000 --queues 20 --rounds 3

Every queue has quota for some Jobs at once. When all that fit are started these are deleted, and
the next ones must be started, in the order of their age. No controller makes pods: what is measured
is the scheduler beside an API server. Jobs that are started out of turn end it with an error.
"""

import argparse
import concurrent.futures
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from tools import controlplane
from tools.controlplane import access

CRDS: Final = Path(__file__).parents[3] / "crds"
QUEUE: Final = "py-gang-scheduler.io/queue"
JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
QUEUES: Final = "/apis/py-gang-scheduler.io/v1alpha1/queues"
CONNECTIONS: Final = 16
PAGE: Final = 500
PODS: Final = 64
"""Of each Job, of one CPU each."""
AT_ONCE: Final = 5
"""Jobs of a queue that fit at once."""
NODE_CPU: Final = 64
TIMEOUT_SECONDS: Final = 300.0
KIBI: Final = 1024
AT_ONCE_GONE: Final = {"propagationPolicy": "Background"}
"""Without it, a finalizer would keep the Job for a controller that does not run."""

Body = dict[str, Any]


class Job(NamedTuple):
    """A Job as it is now. Smaller sorts first in its queue."""

    created: str
    uid: str
    name: str
    queue: str
    is_started: bool


def main() -> None:
    """Measure once, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--queues", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    options = controlplane.Options(kwok=False, controller_manager=False)
    with controlplane.start(options) as plane:
        prepare(plane, arguments.queues)
        began = time.monotonic()
        send(plane, (("POST", JOBS, each) for each in jobs(arguments.jobs, arguments.queues)))
        print(f"{arguments.jobs} Jobs created in {time.monotonic() - began:.0f} s")
        scheduler = controlplane.Scheduler(
            plane, "--manage-job=Job", "--pods-timeout-seconds=3600", "--source=reflector"
        )
        began = time.monotonic()
        with scheduler:
            for number in range(arguments.rounds):
                started = start_round(plane, arguments.queues)
                print(
                    f"round {number + 1}: {len(started)} started in turn after "
                    f"{time.monotonic() - began:.1f} s"
                )
                show(plane, scheduler, len(started) * (number + 1))
                began = time.monotonic()
                send(plane, (("DELETE", f"{JOBS}/{each.name}", AT_ONCE_GONE) for each in started))


def prepare(plane: controlplane.ControlPlane, queues: int) -> None:
    """Create CRDs, nodes with room for all that has quota, and the queues."""
    plane.kubectl("apply", f"--filename={CRDS}")
    plane.kubectl("wait", "--for=condition=Established", f"--filename={CRDS}")
    room = {"cpu": str(NODE_CPU), "memory": "256Gi", "pods": "256"}
    plane.nodes(queues * AT_ONCE * PODS // NODE_CPU, allocatable=room)
    for number in range(queues):
        spec = {"quota": {"soft": {"cpu": str(AT_ONCE * PODS)}}}
        named = {"apiVersion": "py-gang-scheduler.io/v1alpha1", "kind": "Queue"}
        plane.request("POST", QUEUES, {**named, "metadata": {"name": f"q{number}"}, "spec": spec})


def jobs(number: int, queues: int) -> Iterator[Body]:
    """Yield suspended Jobs, one queue after the other."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = {
        "schedulerName": "py-gang-scheduler",
        "restartPolicy": "Never",
        "containers": [container],
    }
    labels = {"py-gang-scheduler.io/gang": "true"}
    for each in range(number):
        yield {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": f"job-{each}", "labels": {QUEUE: f"q{each % queues}"}},
            "spec": {
                "suspend": True,
                "parallelism": PODS,
                "completions": PODS,
                "completionMode": "Indexed",
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        }


def start_round(plane: controlplane.ControlPlane, queues: int) -> list[Job]:
    """Wait until every queue is full, and return what was started; raise for a Job out of turn."""
    started = until_full(plane, queues * AT_ONCE)
    by_queue: dict[str, list[Job]] = defaultdict(list)
    for each in listed(plane):
        by_queue[each.queue].append(each)
    for name, found in by_queue.items():
        first = sorted(found)[:AT_ONCE]
        if not all(each.is_started for each in first):
            raise RuntimeError(f"queue {name} has started other Jobs than its first {AT_ONCE}")
    return started


def until_full(plane: controlplane.ControlPlane, number: int) -> list[Job]:
    """Return the Jobs that are started, once there are so many."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while True:
        started = [each for each in listed(plane) if each.is_started]
        if len(started) >= number:
            return started
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(started)} Jobs are started, not {number}")
        time.sleep(1)


def listed(plane: controlplane.ControlPlane) -> Iterator[Job]:
    """Yield all Jobs, page by page."""
    with access.Client(plane.access) as client:
        following = ""
        while True:
            path = f"{JOBS}?limit={PAGE}&continue={following}"
            page = client.request("GET", path).check().body
            for each in page["items"]:
                metadata = each["metadata"]
                yield Job(
                    *(metadata["creationTimestamp"], metadata["uid"], metadata["name"]),
                    queue=metadata["labels"][QUEUE],
                    is_started=not each["spec"]["suspend"],
                )
            following = page["metadata"].get("continue", "")
            if not following:
                return


def show(plane: controlplane.ControlPlane, scheduler: controlplane.Scheduler, started: int) -> None:
    """Print what the scheduler says of itself so far."""
    text = (scheduler.get("/metrics") or "").splitlines()
    sums = dict(figures(text))
    patches = sum(
        amount
        for name, amount in sums.items()
        if name.startswith("pgs_api_requests_total")
        and 'resource="jobs"' in name
        and ('verb="get"' in name or 'verb="patch"' in name)
    )
    cycles = sums.get("pgs_cycle_seconds_count", 0.0)
    seconds = sums.get("pgs_cycle_seconds_sum", 0.0)
    peak = peak_megabytes(plane.processes.pid(scheduler.name))
    print(
        f"  requests of Jobs: {patches / started:.2f} a start; cycles: {cycles:.0f}, "
        f"{1000 * seconds / max(cycles, 1):.0f} ms each; memory: {peak:.0f} MB at most"
    )


def figures(lines: Iterable[str]) -> Iterator[tuple[str, float]]:
    """Yield the metrics with their labels, and their values."""
    for line in lines:
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            yield name, float(value)


def peak_megabytes(pid: int) -> float:
    """Return the most memory that a process has had."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = (each for each in lines if each.startswith("VmHWM:"))
    return int(line.split()[1]) / KIBI


def send(
    plane: controlplane.ControlPlane, requests: Iterable[tuple[str, str, Mapping[str, Any] | None]]
) -> None:
    """Send requests over some connections at once; raise if one is refused."""
    left = iter(list(requests))

    def work(batch: Callable[[], list[Any]]) -> None:
        with access.Client(plane.access) as client:
            while some := batch():
                for method, path, body in some:
                    client.request(method, path, body).check()

    def batch() -> list[Any]:
        return list(itertools.islice(left, 50))

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(work, [batch] * CONNECTIONS))


if __name__ == "__main__":
    main()
