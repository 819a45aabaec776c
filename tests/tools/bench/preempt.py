"""`python -m tools.bench.preempt`: how long it takes to decide on victims, on full nodes.

The crowd: 20,000 running pods, 2,000 gangs of 10 priorities, on nodes that they fill, and a gang of
64 that must evict. The closure: 16 one-CPU pods on each node of 16 CPUs, from gangs of 20 whose
members are all on different nodes, and a gang whose members each need a whole node. And the worst
shapes that are known: racks of eight nodes, with gangs that must gather in one
(`tools.bench.worst_cases`). No API server: only `schedule()`, on a snapshot. A look and a trial are
what the bound on the time of a cycle is counted in; how many are cut off says where that bound is
felt.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console
from rich.table import Table

from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import PodClass
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.report.words import messages
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from support import builders, call_counts
from tools.bench import collector, worst_cases

PODS: Final = 20_000
GANGS: Final = 2_000
PRIORITIES: Final = 10
HIGH: Final = 1_000
NOW: Final = 100_000
COUNTS: Final = ("nodes", "members", "victims", "trials", "branches", "cut off")
TITLES: Final = ("case", *COUNTS, "p50 ms", "max ms")
TRIAL, BRANCH = "gather.place", "exhaustive._Search._branch"


@dataclass(frozen=True)
class Timing:
    """How long one cycle took, in milliseconds of CPU, and what was decided and searched in it."""

    case: str
    nodes: int
    members: int
    victims: int
    trials: int
    branches: int
    cut_off: int
    p50: float
    most: float


def measure(case: str, snapshot: Snapshot, rounds: int) -> Timing:
    """Make the same cycle again and again. The first time is left out."""
    profile = PROFILES["binpack"]
    collector.settle()
    calls = call_counts.calls_of(lambda: schedule(snapshot, profile))
    taken = []
    for _ in range(rounds):
        started = time.process_time()
        plan = schedule(snapshot, profile)
        taken.append((time.process_time() - started) * 1000)
    cut_off = [each for each in plan.refused if "cut off" in messages.describe(each)]
    return Timing(
        case=case,
        nodes=len(snapshot.nodes),
        members=sum(len(made.nominations) for made in plan.preemptions),
        victims=sum(len(made.victims) for made in plan.preemptions),
        trials=calls[TRIAL],
        branches=calls[BRANCH],
        cut_off=len(cut_off),
        p50=statistics.median(taken),
        most=max(taken),
    )


def crowd(nodes: int, members: int = 64) -> Snapshot:
    """Return full nodes with 20,000 pods of gangs of ten that are spread at random."""
    dice = random.Random(0)  # noqa: S311 - the same cluster every time.
    each_node = PODS // nodes
    one, four = builders.pod_class(cpu=1), builders.pod_class(cpu=4)
    places = [f"node-{number % nodes}" for number in range(PODS)]
    dice.shuffle(places)
    on_nodes = (
        _bound_pod(number % GANGS, number, place, one, dice.randrange(NOW))
        for number, place in enumerate(places)
    )
    return _snapshot(_nodes(nodes, each_node), on_nodes, _gang(members, four))


def closure(nodes: int, members: int) -> Snapshot:
    """Return gangs of 20 across the nodes, each node full of 16 of them."""
    one, sixteen = builders.pod_class(cpu=1), builders.pod_class(cpu=16)
    on_nodes = (
        _bound_pod(number // 20, number, f"node-{number % nodes}", one, NOW - 100)
        for number in range(nodes * 16)
    )
    return _snapshot(_nodes(nodes, 16), on_nodes, _gang(members, sixteen))


def _snapshot(nodes: Iterator[Node], on_nodes: Iterator[BoundPod], gang: Gang) -> Snapshot:
    bound_pods = builders.bound_pods(*on_nodes)
    return builders.snapshot(nodes, [gang], bound_pods=bound_pods, taken_at=NOW)


def _nodes(count: int, cpu: int) -> Iterator[Node]:
    return (builders.node(f"node-{number}", cpu=cpu) for number in range(count))


def _bound_pod(gang: int, number: int, node: str, pod_class: PodClass, started_at: int) -> BoundPod:
    """Return a member of a gang. Pods of one class share what they ask for, as those read do."""
    found = builders.bound_pod(
        f"p-{number}",
        node,
        gang=f"g-{gang}",
        priority=gang % PRIORITIES,
        started_at=started_at,
    )
    return replace(found, pod=replace(found.pod, pod_class=pod_class))


def _gang(members: int, pod_class: PodClass) -> Gang:
    pods = [
        replace(builders.pod(f"a-{number}", gang="a", priority=HIGH), pod_class=pod_class)
        for number in range(members)
    ]
    return builders.gang("a", members=pods, priority=HIGH)


def timings(rounds: int) -> Iterator[Timing]:
    """Measure every case."""
    for nodes in (1_000, 5_000):
        yield measure("crowd", crowd(nodes), rounds)
    for nodes, members in ((200, 32), (1_000, 64)):
        yield measure("closure", closure(nodes, members), rounds)
    for case, snapshot in worst_cases.every():
        yield measure(case, snapshot, rounds)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench.preempt", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    table = Table(title="cycles in which gangs need room that others must leave")
    for title in TITLES:
        table.add_column(title, justify="left" if title == "case" else "right")
    for found in timings(parser.parse_args().rounds):
        numbers = found.nodes, found.members, found.victims, found.trials, found.branches
        counts = (f"{each:,}" for each in (*numbers, found.cut_off))
        table.add_row(found.case, *counts, f"{found.p50:.1f}", f"{found.most:.1f}")
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
