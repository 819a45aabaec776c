"""`python -m tools.bench.closure`: a gang that needs whole nodes which many small gangs share.

Pod k of the crowd is on node k mod the number of nodes, so that a node is only free when all gangs
of a stretch of nodes have gone. All gangs are PodGroups of Kubernetes itself, so that
kube-scheduler's own gangs can be run on the same cluster; victims have no grace period, and there
are no kubelets. Reported: from the creation of the gang to its last binding, and the victims.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from tools import controlplane
from tools.controlplane.access import Access, Client

CRDS: Final = Path(__file__).parents[3] / "crds"
NAMESPACE: Final = "default"
CREATORS: Final = 16
CPUS, SIZE = 16, 20
TIMEOUT_SECONDS: Final = 300.0
NATIVE: Final = "scheduling.k8s.io/v1beta1"
OURS: Final = "py-gang-scheduler"
CONTESTANTS: Final = {OURS: OURS, "kube-scheduler": "default-scheduler"}
Body = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How long it took, and whose pods are gone; `broken` gangs lost some and kept some."""

    seconds: float
    evicted: int
    whole: int
    broken: int


def play(contestant: str, nodes: int, needed: int) -> Outcome:
    """Run the case on a control plane of its own."""
    ours = contestant == OURS
    options = controlplane.Options(
        kwok=False, native_gangs=True, kube_scheduler=not ours, api_priority_and_fairness=False
    )
    with ExitStack() as stack:
        plane = stack.enter_context(controlplane.start(options))
        plane.kubectl("apply", f"--filename={CRDS}")
        scheduler = CONTESTANTS[contestant]
        _fill(plane, nodes, scheduler)
        if ours:
            stack.enter_context(controlplane.Scheduler(plane))
        time.sleep(5)  # All components have read the present objects.
        begun = time.monotonic()
        _create(plane.access, list(_gang("a", needed, scheduler, "high", cpu=CPUS)))
        seconds = _until_bound(plane, needed) - begun
        return _outcome(plane, nodes, seconds)


def _fill(plane: controlplane.ControlPlane, nodes: int, scheduler: str) -> None:
    plane.nodes(nodes, allocatable={"cpu": str(CPUS), "memory": "64Gi", "pods": "110"})
    for name, value in (("high", 1_000_000), ("low", 1_000)):
        body = {"metadata": {"name": name}, "value": value}
        plane.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    gangs = nodes * CPUS // SIZE
    bodies = [list(_gang(f"crowd-{i}", SIZE, scheduler, "low", cpu=1)) for i in range(gangs)]
    pods = [each for gang in bodies for each in gang[1:]]
    for number, pod in enumerate(pods):
        pod["spec"]["nodeName"] = f"node-{number % nodes}"
    _create(plane.access, [gang[0] for gang in bodies])
    _create(plane.access, pods)


def _gang(
    name: str, size: int, scheduler: str, priority: str, *, cpu: int
) -> Iterator[dict[str, Any]]:
    policy = {"gang": {"minCount": size}}
    spec = {"schedulingPolicy": policy, "priorityClassName": priority}
    yield {"apiVersion": NATIVE, "kind": "PodGroup", "metadata": {"name": name}, "spec": spec}
    for number in range(size):
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "labels": {"gang": name}},
            "spec": {
                "schedulerName": scheduler,
                "schedulingGroup": {"podGroupName": name},
                "priorityClassName": priority,
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {"name": "c", "image": "none", "resources": {"requests": {"cpu": str(cpu)}}}
                ],
            },
        }


def _create(access: Access, bodies: list[dict[str, Any]]) -> None:
    def create(some: list[dict[str, Any]]) -> None:
        with Client(access) as client:
            for body in some:
                client.request("POST", _path(body), body).check()

    with ThreadPoolExecutor(CREATORS) as creators:
        list(creators.map(create, [bodies[i::CREATORS] for i in range(CREATORS)]))


def _path(body: Body) -> str:
    group = "/api/v1" if body["kind"] == "Pod" else f"/apis/{NATIVE}"
    return f"{group}/namespaces/{NAMESPACE}/{body['kind'].lower()}s"


def _until_bound(plane: controlplane.ControlPlane, needed: int) -> float:
    """Return when all members of the gang had a node."""
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=gang%3Da"
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        pods = plane.request("GET", path)["items"]
        if sum(bool(pod["spec"].get("nodeName")) for pod in pods) == needed:
            return time.monotonic()
        time.sleep(0.1)
    return float("inf")


def _outcome(plane: controlplane.ControlPlane, nodes: int, seconds: float) -> Outcome:
    pods = plane.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    left = Counter(pod["metadata"]["labels"]["gang"] for pod in pods)
    gangs = nodes * CPUS // SIZE
    crowd = [left[f"crowd-{number}"] for number in range(gangs)]
    return Outcome(
        seconds=seconds,
        evicted=gangs * SIZE - sum(crowd),
        whole=sum(number == 0 for number in crowd),
        broken=sum(0 < number < SIZE for number in crowd),
    )


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.closure", description=__doc__)
    parser.add_argument("contestants", nargs="*", choices=[*CONTESTANTS, []])
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--needed", type=int, default=32)
    arguments = parser.parse_args()
    title = (
        f"a gang of {arguments.needed} whole nodes of {arguments.nodes}, full with gangs of {SIZE}"
    )
    table = Table(title=title)
    for column in ("contestant", "s to the last binding", "evicted", "whole gangs", "broken gangs"):
        table.add_column(column, justify="left" if column == "contestant" else "right")
    for contestant in arguments.contestants or CONTESTANTS:
        found = play(contestant, arguments.nodes, arguments.needed)
        figures = (found.evicted, found.whole, found.broken)
        table.add_row(contestant, f"{found.seconds:.1f}", *map(str, figures))
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
