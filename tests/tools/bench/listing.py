"""How long `list` takes in a large cluster, from lists of an API server to lines: CPU seconds.

    python -m tools.bench.listing
    python -m tools.bench.listing --gangs 20000 --nodes 5000

Half of the gangs run, the others wait; every one has five members. The pods come as bytes, as the
API server would send them, and are decoded and counted; then a cycle is made, and a line a gang.
"""

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec

from gang_scheduler import from_settings, gc_tuning
from gang_scheduler.api.kinds import NODES, POD_GROUPS, PODS
from gang_scheduler.decode.events import EventHandlers, LeftOutObjects
from gang_scheduler.inspection.cluster import Cluster, Source
from gang_scheduler.inspection.listing import decisions_now, gangs
from gang_scheduler.inspection.listing.table_layout import Page
from gang_scheduler.settings.policy import Policy
from gang_scheduler.state import kinds
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.known_objects import KnownObjects
from support import listed_clusters
from support.listed_clusters import Body

SIZE = 5
NOW = 1_767_272_400
T = TypeVar("T")


def main() -> None:
    """Measure once, and print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gangs", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    arguments = parser.parse_args()
    gc_tuning.collect_rarely()
    objects = encoded([*bodies(arguments.gangs, arguments.nodes)])
    began = time.process_time()
    cluster = timed("take objects in", lambda: filled(objects))
    decided = timed("decide", lambda: decisions_now.decide(cluster))
    found = timed("make lines", lambda: gangs.gang_rows(cluster, decided))
    text = timed("print", lambda: "\n".join(gangs.gang_table(found, cluster, Page())))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{'together':16} {time.process_time() - began:6.2f} s, {most} MB")
    print(f"{len(found)} gangs, {len(text) // 1000} kB of text")


def timed(step: str, work: Callable[[], T]) -> T:
    """Return what a step gives, having printed how long it took."""
    began = time.process_time()
    result = work()
    print(f"{step:16} {time.process_time() - began:6.2f} s")
    return result


def bodies(gangs: int, nodes: int) -> Iterator[Body]:
    """Yield nodes, and gangs that run or wait."""
    names = [f"node-{number}" for number in range(nodes)]
    yield from (listed_clusters.node(name) for name in names)
    for number in range(gangs):
        first = number * SIZE
        placed = [names[(first + member) % nodes] for member in range(SIZE)]
        runs = number % 2 == 0
        yield from listed_clusters.gang(
            f"gang-{number}",
            SIZE,
            gpus=1 if runs else 4 + number % 5,
            nodes=placed if runs else (),
            namespace=f"team-{number % 50}",
        )


def encoded(found: Sequence[Body]) -> list[tuple[str, msgspec.Raw]]:
    """Return objects as they come with a list, with their kinds."""
    made = []
    for number, body in enumerate(found):
        metadata = {"uid": f"uid-{number}", "resourceVersion": str(number + 1), **body["metadata"]}
        raw = msgspec.json.encode({**body, "metadata": metadata})
        made.append((body["kind"], msgspec.Raw(raw)))
    return made


def filled(objects: Sequence[tuple[str, msgspec.Raw]]) -> Cluster:
    """Return the cluster that lists of these objects make."""
    settings = Policy()
    cache = from_settings.cache(settings, Changes())
    cache.gang_queue.expect_nothing()
    sinks = kinds.sinks(cache, from_settings.membership(settings))
    event_handlers = EventHandlers(sinks, LeftOutObjects())
    known = {
        kind: KnownObjects(event_handlers.of(gvr), event_handlers.versions)
        for kind, gvr in (("Node", NODES), ("PodGroup", POD_GROUPS), ("Pod", PODS))
    }
    for kind, raw in objects:
        known[kind].listed(raw)
    return Cluster(cache, settings, NOW, Source.LIVE)


if __name__ == "__main__":
    main()
