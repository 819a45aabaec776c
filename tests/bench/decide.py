"""`python -m bench.decide`: how long it takes to decide one gang in a network of four layers.

Spines of 1,000 nodes, blocks of 200, racks of 20, and nodes of 8 GPUs, of which a third is taken
at random (seeded). The gang asks for one GPU a member, must gather in the lowest of these layers
that can have room for it and prefers those below. No API server: only `schedule()`, on a snapshot.
"""

import argparse
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from rich.console import Console
from rich.table import Table

import builders
from gang_scheduler.model.gathering import Gathering, LayerRef
from gang_scheduler.model.layers import NODE_LAYER, Layer, Scheme
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.snapshot import Snapshot
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES

SIZES: Final = {"SpineLayer": 1000, "BlockLayer": 200, "RackLayer": 20}
NODES: Final = (1_000, 5_000, 20_000)
MEMBERS: Final = (20, 256, 4_096)
GPUS: Final = 8
TAKEN: Final = 1 / 3


@dataclass(frozen=True)
class Timing:
    """How long one decision took, in milliseconds, and the memory of the process so far."""

    nodes: int
    members: int
    p50: float
    p99: float
    megabytes: int


def measure(nodes: int, members: int, rounds: int) -> Timing:
    """Decide the same gang again and again. The first time, which builds the tree, is left out."""
    snapshot = _snapshot(nodes, members)
    profile = PROFILES["binpack"]
    taken = []
    for number in range(rounds + 1):
        started = time.perf_counter()
        plan = schedule(snapshot, profile)
        if number:
            taken.append((time.perf_counter() - started) * 1000)
        if not plan.placed:
            sys.exit(f"{members} members did not fit on {nodes} nodes: {plan.refused}")
    percentiles = statistics.quantiles(taken, n=100, method="inclusive")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return Timing(nodes, members, percentiles[49], percentiles[98], peak)


def _snapshot(nodes: int, members: int) -> Snapshot:
    layers = list(SIZES)
    wide = (each for each in reversed(layers) if SIZES[each] * GPUS * (1 - TAKEN) > 2 * members)
    must = next(wide, layers[0])
    asked = Gathering(
        must=(LayerRef(must),),
        prefer=tuple(LayerRef(each) for each in layers[layers.index(must) + 1 :]),
    )
    # Pods of one class share what they ask for, as those do that are read from the API server.
    ask = builders.ask(cpu=0, gpu=1)
    pods = [replace(builders.pod(f"a-{i}", gang="a"), ask=ask) for i in range(members)]
    gang = builders.gang("a", members=pods)
    group = builders.group(gang, gathering=asked)
    return builders.snapshot(_nodes(nodes), [group], _running(nodes), schemes=[_scheme()])


def _scheme() -> Scheme:
    names = ["", *SIZES]
    layers = [Layer(below, above, (below,)) for above, below in pairwise(names)]
    return Scheme("ClusterNetworkTopology default", (*layers, Layer(NODE_LAYER, names[-1])))


def _nodes(count: int) -> Iterator[Node]:
    for number in range(count):
        labels = {layer: f"{layer}-{number // size}" for layer, size in SIZES.items()}
        yield builders.node(f"node-{number}", gpu=GPUS, labels=labels)


def _running(nodes: int) -> Iterator[Pod]:
    dice = random.Random(0)  # noqa: S311 - the same cluster every time.
    for number in range(nodes):
        gpu = dice.choice([0, 0, 0, 2, 4, 6, GPUS])
        if gpu:
            yield builders.pod(f"busy-{number}", node=f"node-{number}", cpu=0, gpu=gpu)


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.decide", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    table = Table(title="one gang decided in a network of four layers")
    for title in ("nodes", "members", "p50 ms", "p99 ms", "peak MB"):
        table.add_column(title, justify="right")
    for nodes in NODES:
        for members in MEMBERS:
            found = measure(nodes, members, rounds)
            figures = (f"{found.p50:.2f}", f"{found.p99:.2f}", str(found.megabytes))
            table.add_row(f"{nodes:,}", f"{members:,}", *figures)
    Console().print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
