"""`python -m tools.bench.racks`: how long gangs wait that need a rack, by how others are placed.

A cluster of racks under load, minute by minute: single pods of a few GPUs, whole nodes, pods
without a GPU, and gangs that must gather in a rack. The same jobs come twice: once to nodes in the
order of what a place costs others, and once in the order of names.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final
from unittest import mock

import numpy as np
from rich.console import Console
from rich.table import Table

from gang_scheduler.model.nodes import IntArray, Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.placement import scoring
from gang_scheduler.scheduler.profile import PROFILES
from support.builders import gang, group, node, pod, snapshot
from support.topology_builders import BLOCK, TREE_SPEC

GPUS, CPUS = 8, 64
HOUR: Final = 60
SIZES: Final = {"part of a node": 0, "node": 1, "without a GPU": 0, "gang": 4}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Racks of so many nodes with GPUs, and nodes without any, whose names come last."""

    racks: int
    nodes: int
    without: int

    def all_nodes(self) -> list[Node]:
        """Return the nodes."""
        gpus = [
            node(
                f"a{rack:02d}-{i:02d}", cpu=CPUS, gpu=GPUS, memory="1Ti", labels=_in(f"r{rack:02d}")
            )
            for rack in range(self.racks)
            for i in range(self.nodes)
        ]
        plain = [
            node(f"z{i:02d}", cpu=CPUS, memory="1Ti", labels=_in("plain"))
            for i in range(self.without)
        ]
        return [*gpus, *plain]


CLUSTERS: Final[Mapping[str, Cluster]] = {
    "2 racks of 4": Cluster(2, 4, 4),
    "16 racks of 16": Cluster(16, 16, 16),
}


@dataclass(frozen=True, slots=True)
class Job:
    """Pods that start together: `kind` of SIZES, when it came, and for how many minutes it runs."""

    name: str
    kind: str
    came: int
    lasts: int
    members: tuple[Pod, ...]


def _in(rack: str) -> dict[str, str]:
    return {"network/spine": "s", "network/block": rack}


def jobs(cluster: Cluster, minutes: int, load: float, seed: int) -> Iterator[Job]:
    """Yield jobs that would use so much of the GPUs and of the CPUs beside them."""
    dice = random.Random(seed)  # noqa: S311 - nothing secret.
    gpus = cluster.racks * cluster.nodes
    # Of the GPUs half goes to gangs, a third to whole nodes, and the rest to parts.
    work = {"gang": 0.5, "node": 0.3, "part of a node": 0.2}
    made = 0
    for minute in range(minutes):
        for kind in SIZES:
            largest = max(2, cluster.nodes // 2)
            size = {"gang": dice.randint(2, largest), "part of a node": 1}.get(kind, 1)
            lasts = dice.randint(HOUR // 2, 3 * HOUR)
            uses = {"gang": (2 + largest) / 2, "node": 1.0, "part of a node": 0.3}.get(kind, 0.5)
            share = load * work.get(kind, 0) * gpus or 0.6 * cluster.without
            rate = share / (uses * 1.75 * HOUR)
            for _ in range(int(rate) + (dice.random() < rate % 1)):
                made += 1
                gpu = {"gang": GPUS, "node": GPUS, "part of a node": dice.randint(1, 4)}.get(
                    kind, 0
                )
                cpu = 4 * gpu or CPUS // 2
                name = f"j{made}"
                members = tuple(
                    pod(f"{name}-{i}", gang=name, cpu=cpu, gpu=gpu) for i in range(size)
                )
                yield Job(name, kind, minute, lasts, members)


@contextmanager
def by_name() -> Iterator[None]:
    """Let the name decide among nodes of one score."""

    def none(_: object, rows: IntArray, *__: object) -> IntArray:
        return np.zeros(len(rows), dtype=np.int64)

    def names(_: object, rows: IntArray, *__: object) -> IntArray:
        return np.arange(len(rows))

    with mock.patch.object(scoring, "later", none), mock.patch.object(scoring, "order", names):
        yield


def waits(cluster: Cluster, coming: Sequence[Job], minutes: int) -> dict[str, list[int]]:
    """Return how long the jobs of each kind waited, in minutes; those that wait still count."""
    nodes = cluster.all_nodes()
    request = TopologyRequest(must=(LayerRef(BLOCK),))
    waiting: list[Job] = []
    running: list[tuple[int, tuple[Pod, ...]]] = []
    found: dict[str, list[int]] = {kind: [] for kind in SIZES}
    left = list(coming)
    for minute in range(minutes):
        while left and left[0].came <= minute:
            waiting.append(left.pop(0))
        running = [each for each in running if each[0] > minute]
        bound = [each for _, pods in running for each in pods]
        asked = [
            group(
                gang(each.name, members=each.members, created_at=each.came),
                topology_request=request if each.kind == "gang" else None,
            )
            for each in waiting
        ]
        plan = schedule(snapshot(nodes, asked, bound, [TREE_SPEC]), PROFILES["binpack"])
        placed = {each.gang.key.name: each.binds for each in plan.placed}
        for job in waiting:
            if job.name in placed:
                pods = tuple(replace(bind.pod, node=bind.node) for bind in placed[job.name])
                running.append((minute + job.lasts, pods))
                found[job.kind].append(minute - job.came)
        waiting = [job for job in waiting if job.name not in placed]
    for job in waiting:
        found[job.kind].append(minutes - job.came)
    return found


def main() -> None:
    """Print the waits in both orders."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--load", type=float, default=0.8, help="part of the GPUs that is asked for"
    )
    parser.add_argument("--minutes", type=int, default=720)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--clusters", nargs="*", default=[*CLUSTERS], choices=[*CLUSTERS])
    given = parser.parse_args()
    table = Table("cluster", "kind", "jobs", "mean wait by name", "mean wait now", box=None)
    for name in given.clusters:
        before: dict[str, list[int]] = {kind: [] for kind in SIZES}
        after: dict[str, list[int]] = {kind: [] for kind in SIZES}
        for seed in range(given.seeds):
            coming = [*jobs(CLUSTERS[name], given.minutes, given.load, seed)]
            with by_name():
                for kind, some in waits(CLUSTERS[name], coming, given.minutes).items():
                    before[kind] += some
            for kind, some in waits(CLUSTERS[name], coming, given.minutes).items():
                after[kind] += some
        for kind in SIZES:
            mean = [f"{np.mean(each[kind] or [0]):.1f} min" for each in (before, after)]
            table.add_row(name, kind, str(len(after[kind])), *mean)
    Console().print(table)


if __name__ == "__main__":
    main()
