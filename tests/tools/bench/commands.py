"""`python -m tools.bench.commands`: what `explain`, `list` and `snapshot` take of a large cluster.

A real API server with nodes, and pods of Jobs on them, in gangs; some gangs wait. No controller and
no operator runs beside it. Each command is a process of its own, as a user starts it: the time is
that of the process, and so is the memory at most.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from tools import controlplane
from tools.bench import snapshots
from tools.controlplane import ControlPlane, Options, nodes
from tools.controlplane.access import Client

OPTIONS: Final = Options(kwok=False, controller_manager=False, api_priority_and_fairness=False)
CRDS: Final = Path(__file__).parents[3] / "crds"
CREATORS: Final = 4
NAMESPACES: Final = 50
PRIORITIES: Final = {"low": 1, "high": 1000}
WAITING: Final = 100
"""So many gangs wait, of members that ask for whole nodes; all others run."""
WHOLE_NODE: Final = {"cpu": "64", "memory": "64Gi"}
LAYERS: Final = (
    {"topologyLayer": "RackLayer", "labelKey": ["rack"]},
    {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "RackLayer"},
)
TOPOLOGY: Final = {
    "apiVersion": "scheduling.koordinator.sh/v1alpha1",
    "kind": "ClusterNetworkTopology",
    "metadata": {"name": "default"},
    "spec": {"networkTopologySpec": LAYERS},
}
SPEC: Final = "gang.scheduling.koordinator.sh/network-topology-spec"
GATHERS: Final = json.dumps({"gatherStrategy": [{"layer": "RackLayer", "strategy": "MustGather"}]})
EMPTY: Final = 3
"""So many nodes no pod runs on: less than a gang that waits needs."""
OF_SERVERS: Final = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields"})
KIBI: Final = 1024

Body = dict[str, Any]


class Scale(NamedTuple):
    """How large the cluster is; all gangs have so many members."""

    nodes: int
    pods: int
    members: int

    @property
    def gangs(self) -> int:
        """How many gangs there are, those that wait among them."""
        return self.pods // self.members


class Cost(NamedTuple):
    """What a process took: seconds, those of CPU, MB of memory at most; bytes that it wrote."""

    command: str
    seconds: float
    cpu: float
    megabytes: float
    written: int


def main() -> int:
    """Measure each command, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.commands", description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=50000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3, help="The fastest of so many is shown.")
    given = parser.parse_args()
    scale = Scale(given.nodes, given.pods, given.members)
    with controlplane.start(OPTIONS) as plane, tempfile.TemporaryDirectory() as directory:
        begun = time.monotonic()
        fill(plane, scale)
        print(f"filled in {time.monotonic() - begun:.0f} s", file=sys.stderr)
        costs = [*measured(plane.kubeconfig, Path(directory), scale, given.rounds)]
    Console().print(_table(scale, costs))
    return 0


# What is measured.


def measured(kubeconfig: Path, directory: Path, scale: Scale, rounds: int) -> Iterator[Cost]:
    """Yield what each command takes."""
    live, file = f"--kubeconfig={kubeconfig}", str(directory / "cluster.jsonl.gz")
    waiting, running = _name(WAITING - 1), _name(scale.gangs - 1)
    commands = (
        ("explain", waiting, "--output=json", live),
        ("explain", running, "--output=json", live),
        ("list", "--all-namespaces", "--output=json", live),
        ("list", "--all-namespaces", live),
        ("snapshot", f"--output={file}", live),
        ("explain", waiting, "--output=json", f"--filename={file}"),
        ("list", "--all-namespaces", "--output=json", f"--filename={file}"),
    )
    for command in commands:
        costs = (_of_process(command, directory) for _ in range(rounds))
        found = min(costs, key=lambda each: each.seconds)
        if command[0] == "snapshot":
            found = found._replace(written=Path(file).stat().st_size)
        yield found


def _of_process(command: Sequence[str], directory: Path) -> Cost:
    output = directory / "output"
    begun = time.monotonic()
    with output.open("wb") as into:
        process = subprocess.Popen(
            [sys.executable, "-m", "gang_scheduler", *command],
            stdout=into,
            env={**os.environ, **_compiled_below(directory)},
        )
        _, status, usage = os.wait4(process.pid, 0)
    seconds = time.monotonic() - begun
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    shown = " ".join(each.partition("=")[0] for each in command)
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(shown, seconds, cpu, usage.ru_maxrss * KIBI / 1e6, output.stat().st_size)


def _compiled_below(directory: Path) -> dict[str, str]:
    """Return what lets Python keep what it compiled after the first round, as when installed."""
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(directory / "compiled")}


def _table(scale: Scale, costs: Iterable[Cost]) -> Table:
    title = (
        f"{scale.nodes} nodes, {scale.pods} pods in {scale.gangs} gangs, of which {WAITING} wait"
    )
    table = Table("command", title=title)
    for column in ("s", "CPU s", "MB at most", "MB written"):
        table.add_column(column, justify="right")
    for each in costs:
        figures = (each.seconds, each.cpu, each.megabytes, each.written / 1e6)
        table.add_row(each.command, *(f"{figure:.1f}" for figure in figures))
    return table


# The cluster.


def fill(plane: ControlPlane, scale: Scale) -> None:
    """Create all objects. A few minutes for 50,000 pods."""
    plane.kubectl("apply", f"--filename={CRDS}")
    dice = Random(1)  # noqa: S311 - for names, not for secrets.
    spaces = [{"metadata": {"name": f"team-{number}"}} for number in range(NAMESPACES)]
    _create(plane, "/api/v1/namespaces", spaces)
    classes = [{"metadata": {"name": name}, "value": n} for name, n in PRIORITIES.items()]
    _create(plane, "/apis/scheduling.k8s.io/v1/priorityclasses", classes)
    topologies = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
    _create(plane, topologies, [TOPOLOGY])
    made = (new(snapshots.node_manifest(dice, number)) for number in range(scale.nodes))
    nodes.create(plane.access, [*made])

    def create_some(first: int) -> None:
        own_dice = Random(first)  # noqa: S311 - as above.
        with Client(plane.access) as client:
            for gang in range(first, scale.gangs, CREATORS):
                _create_gang(client, own_dice, gang, scale)

    with ThreadPoolExecutor(CREATORS) as creators:
        list(creators.map(create_some, range(CREATORS)))


def _create(plane: ControlPlane, path: str, bodies: Iterable[Body]) -> None:
    for each in bodies:
        plane.request("POST", path, each)


def _create_gang(client: Client, dice: Random, gang: int, scale: Scale) -> None:
    namespace, _, name = _name(gang).partition("/")
    here = f"namespaces/{namespace}"
    group = {
        "apiVersion": "scheduling.sigs.k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": name, "annotations": {SPEC: GATHERS}},
        "spec": {"minMember": scale.members},
    }
    client.request("POST", f"/apis/{group['apiVersion']}/{here}/podgroups", group).check()
    for i in range(scale.members):
        number = gang * scale.members + i
        body = snapshots.pod_of_job(dice, namespace, name, i, _node_of(number, gang, scale))
        client.request("POST", f"/api/v1/{here}/pods", _pod(body, waits=gang < WAITING)).check()


def _name(gang: int) -> str:
    return f"team-{gang % NAMESPACES}/job-{gang}"


def _node_of(number: int, gang: int, scale: Scale) -> str:
    """Return the node of a pod; the first few nodes stay empty."""
    return "" if gang < WAITING else f"node-{EMPTY + number % (scale.nodes - EMPTY)}"


def _pod(body: Body, *, waits: bool) -> Body:
    spec = {**body["spec"], "priorityClassName": "low" if waits else "high"}
    if waits:
        (container,) = spec["containers"]
        spec["containers"] = [{**container, "resources": {"requests": WHOLE_NODE}}]
    return new({**body, "spec": spec})


def new(body: Body) -> Body:
    """Return an object as it is created: without what an API server writes into it."""
    metadata = {key: each for key, each in body["metadata"].items() if key not in OF_SERVERS}
    return {**body, "metadata": metadata}


if __name__ == "__main__":
    raise SystemExit(main())
