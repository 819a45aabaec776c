"""What the page costs in a large cluster: CPU seconds of views and of screens, and its memory.

    python -m tools.bench.page
    python -m tools.bench.page --gangs 10000 --nodes 20000

Half of the gangs run and fill the nodes, the others wait; every one has five members. The objects
come as bytes, as the API server would send them. `first view` is what a page costs that begins,
next to reading; the lines after it are what the next view costs after a change. The rest is made
once for a view, if a browser asks. A tenant has the rights of one namespace.
"""

import argparse
import asyncio
import resource
import time
from collections.abc import Iterator
from typing import Final

from gang_scheduler import gc_tuning
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.watched import AGAIN_SECONDS
from gang_scheduler.page import history, routes
from gang_scheduler.page.access import HOST, Access
from gang_scheduler.page.restricted_views import Viewer, note, partial
from gang_scheduler.page.sources import Views
from gang_scheduler.page.view import Reading
from gang_scheduler.page.withheld_names import Names
from support import listed_clusters
from support.followed import Followed
from support.listed_clusters import Body
from tools.bench import listing
from tools.bench.listing import timed

TENANT: Final = Viewer(frozenset({"team-7"}), nodes=False, queues=False)
SCREENS: Final = (
    "/?as=map",
    "/?as=table",
    "/gangs",
    "/nodes",
    "/queues",
    "/decisions",
    "/api/v1/nodes",
)
"""Screens that were not made when the browser came in, as `/` was."""


class Prepared:
    """A cluster that is read at once."""

    still = False

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def read(self) -> Reading:
        """Return the cluster."""
        return Reading(self.cluster, events=())

    def tried(self, _manifests: str) -> Cluster:
        """Return the cluster as it is."""
        return self.cluster

    def close(self) -> None:
        """Do nothing."""


def bodies(gangs: int, nodes: int) -> Iterator[Body]:
    """Yield nodes, gangs that fill them, and gangs that wait."""
    names = [f"node-{number}" for number in range(nodes)]
    yield from map(listed_clusters.node, names)
    for number in range(gangs):
        first = number * listing.SIZE
        runs = number < gangs // 2
        yield from listed_clusters.gang(
            *(f"gang-{number}", listing.SIZE),
            gpus=(8 if first + listing.SIZE <= nodes else 0) if runs else 4 + number % 5,
            nodes=[names[(first + each) % nodes] for each in range(listing.SIZE)] if runs else (),
            namespace=f"team-{number % 50}",
        )


def changed(followed: Followed, number: int) -> None:
    """Change a label of so many pods of gangs that run."""
    for each in range(number):
        gang = 11 * each
        body = followed.objects["Pod", f"team-{gang % 50}", f"gang-{gang}-0"]
        labels = {**body["metadata"]["labels"], "changed": str(followed.now)}
        followed.put({**body, "metadata": {**body["metadata"], "labels": labels}})


def main() -> None:
    """Measure once, and print what each step took."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gangs", type=int, default=10_000)
    parser.add_argument("--nodes", type=int, default=20_000)
    arguments = parser.parse_args()
    gc_tuning.collect_rarely()
    followed = Followed()

    def read() -> None:
        for body in bodies(arguments.gangs, arguments.nodes):
            followed.put(body)
        followed.cluster.take_in()

    timed("read", read)
    timed("first view", followed.view)
    for what, number in (("no change", 0), ("a pod", 1), ("a pod", 1), ("100 pods", 100)):
        changed(followed, number)
        timed(what, followed.view)
    for member in range(listing.SIZE):
        followed.delete("Pod", f"gang-1-{member}", "team-1")
    timed("a gang ends", followed.view)
    seen = timed("10 s later", lambda: followed.view(AGAIN_SECONDS))
    past = history.Past()
    timed("remember", lambda: past.noted(seen.read_at, seen.events, seen.rows, seen.use))
    found = timed("map", seen.node_map)
    assert found is not None
    names = Names()
    timed("names", lambda: note(names, seen))
    timed("tenant", lambda: partial(seen, TENANT, names))
    asyncio.run(screens(Prepared(seen.cluster)))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{most} MB at most, with the objects that are read")


async def screens(source: Prepared) -> None:
    """Print what each screen costs, and how large it is."""
    from aiohttp.test_utils import TestClient, TestServer  # noqa: PLC0415 - after the figures.

    access = Access()
    server = TestServer(routes.application(Views(source), access, "bench"), host=HOST)
    await server.start_server()
    address = access.address(server.port or 0)
    async with TestClient(server, auto_decompress=False) as client:
        await client.get(address.partition(str(server.port))[2])
        for path in SCREENS:
            began, wall = time.process_time(), time.monotonic()
            async with client.get(path, headers={"Accept-Encoding": "gzip"}) as answer:
                size = len(await answer.read())
            cpu, seconds = time.process_time() - began, time.monotonic() - wall
            print(f"{path:16} {cpu:6.2f} s, {seconds:5.2f} s in all, {size // 1000} kB")


if __name__ == "__main__":
    main()
