"""`python -m tools.bench.decide`: how long it takes to decide one gang in a network of four layers.

Spines of 1,000 nodes, blocks of 200, racks of 20, and nodes of 8 GPUs, of which a third is taken
at random (seeded). The gang asks for one GPU a member, must gather in the lowest of these layers
that can have room for it and prefers those below. No API server: a cache that is told of
everything, of which a snapshot is taken when one of the members has changed, and `schedule()`.
"""

import argparse
import random
import resource
import statistics
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from rich.console import Console
from rich.table import Table

from gang_scheduler.api.kinds import CLUSTER_NETWORK_TOPOLOGIES, POD_GROUPS
from gang_scheduler.decode.topology import DeclaredTopology
from gang_scheduler.model.layers import NODE_LAYER, Layer, TreeSpec
from gang_scheduler.model.nodes import Node
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.topology_request import LayerRef, TopologyRequest
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, cache_feeding
from tools.bench import collector

SIZES: Final = {"SpineLayer": 1000, "BlockLayer": 200, "RackLayer": 20}
NODES: Final = (1_000, 5_000, 20_000)
MEMBERS: Final = (20, 256, 4_096)
GPUS: Final = 8
TAKEN: Final = 1 / 3


class Timing(NamedTuple):
    """How long the steps of one decision took, in milliseconds."""

    snapshot: float
    decide: float


def measure(nodes: int, members: int, rounds: int) -> Iterator[Timing]:
    """Decide the same gang again and again. The first time, which builds the tree, is left out."""
    pods = _members(members)
    cache = _cache(nodes, pods)
    collector.settle()
    for number in range(rounds + 1):
        cache.gang_queue.upsert_member(builders.gang_key("a"), pods[0])
        started = time.perf_counter()
        snapshot = cache.snapshot(number)
        taken = time.perf_counter()
        plan = schedule(snapshot, PROFILES["binpack"])
        decided = time.perf_counter()
        if not plan.placed:
            sys.exit(f"{members} members did not fit on {nodes} nodes: {plan.refused}")
        if number:
            yield Timing((taken - started) * 1000, (decided - taken) * 1000)


def _cache(nodes: int, pods: Sequence[Pod]) -> Cache:
    cache = Cache([builders.SCHEDULER], Changes())
    cache_feeding.upsert(
        cache,
        CLUSTER_NETWORK_TOPOLOGIES,
        DeclaredTopology("uid-default", "default", tree_spec=_tree_spec()),
    )
    for node in _nodes(nodes):
        cache.upsert(cache.node_store, node)
    for pod in (*_running(nodes), *pods):
        cache.upsert_pod(pod)
    said = replace(builders.gang_spec("a", len(pods)), topology_request=_asked(len(pods)))
    cache_feeding.upsert_gang_specs(cache, POD_GROUPS.group, said.uid, [said])
    return cache


def _members(number: int) -> list[Pod]:
    """Return pods of one class, which share what they ask for, as those do that are read."""
    pod_class = builders.pod_class(cpu=0, gpu=1)
    return [replace(builders.pod(f"a-{i}", gang="a"), pod_class=pod_class) for i in range(number)]


def _asked(members: int) -> TopologyRequest:
    layers = list(SIZES)
    wide = (each for each in reversed(layers) if SIZES[each] * GPUS * (1 - TAKEN) > 2 * members)
    must = next(wide, layers[0])
    below = layers[layers.index(must) + 1 :]
    return TopologyRequest(must=(LayerRef(must),), prefer=tuple(LayerRef(each) for each in below))


def _tree_spec() -> TreeSpec:
    names = ["", *SIZES]
    layers = [Layer(below, above, (below,)) for above, below in pairwise(names)]
    return TreeSpec("ClusterNetworkTopology default", (*layers, Layer(NODE_LAYER, names[-1])))


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
    parser = argparse.ArgumentParser(prog="python -m tools.bench.decide", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    table = Table(title="one gang decided in a network of four layers, ms (p50 / p99)")
    for title in ("nodes", "members", "snapshot", "decide", "both", "peak MB"):
        table.add_column(title, justify="right")
    for nodes in NODES:
        for members in MEMBERS:
            timings = [(*each, sum(each)) for each in measure(nodes, members, rounds)]
            figures = map(_figures, zip(*timings, strict=True))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            table.add_row(f"{nodes:,}", f"{members:,}", *figures, str(peak))
    Console().print(table)
    return 0


def _figures(times: Iterable[float]) -> str:
    percentiles = statistics.quantiles(times, n=100, method="inclusive")
    return f"{percentiles[49]:.2f} / {percentiles[98]:.2f}"


if __name__ == "__main__":
    sys.exit(main())
