"""One life of the operator on a fake API server: all of its parts that decide and write."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self

from gang_scheduler.api.kinds import (
    CLUSTER_NETWORK_TOPOLOGIES,
    GVR,
    KUEUE_TOPOLOGIES,
    NATIVE_POD_GROUPS,
    NODES,
    POD_DISRUPTION_BUDGETS,
    POD_GROUPS,
    PODS,
    SCHED_PLUGINS_POD_GROUPS,
)
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import Change, FakeCluster
from gang_scheduler.client.fake.documents import Document
from gang_scheduler.decode.event_handlers import EventHandlers
from gang_scheduler.loop import Wake
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.state.cache import Cache
from support.parts import CONCURRENCY, NO_BACKPRESSURE, Parts

OURS = "py-gang-scheduler"
ECHO_SECONDS = 0.05
KINDS: tuple[tuple[GVR, str], ...] = (
    (NODES, "node"),
    (CLUSTER_NETWORK_TOPOLOGIES, "topology"),
    (KUEUE_TOPOLOGIES[0], "kueue_topology"),
    (POD_DISRUPTION_BUDGETS, "pod_disruption_budget"),
    (POD_GROUPS, "pod_group"),
    (SCHED_PLUGINS_POD_GROUPS, "pod_group"),
    (NATIVE_POD_GROUPS[0], "native_pod_group"),
    (PODS, "pod"),
)
"""What is watched, and which handler takes it."""


class Process:
    """Use as an async context manager; leaving it is a kill at that moment."""

    def __init__(self, cluster: FakeCluster, clock: Callable[[], float]) -> None:
        self.cluster = cluster
        self.api = FakeApi(cluster)
        wake = Wake()
        self.cache = Cache([OURS], wake)
        parts = Parts(self.api, self.cache, wake, clock=clock)
        status = StatusWriter(
            *(self.api, self.cache),
            interval_seconds=1,
            concurrency=CONCURRENCY,
            lost_nominations=parts.lost_nominations,
            backpressure=NO_BACKPRESSURE,
            clock=clock,
        )
        event_handlers = EventHandlers(self.cache)
        self._taken = {gvr: getattr(event_handlers, name) for gvr, name in KINDS}
        self._watch: asyncio.Queue[tuple[float, GVR, Change, Document]] = asyncio.Queue()
        self._parts: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (
            self._listen,
            *parts.that_run,
            status.run,
        )
        self.tasks: list[asyncio.Task[Any]] = []

    async def __aenter__(self) -> Self:
        for gvr, _ in KINDS:
            for document in self.cluster.all(gvr):
                self._taken[gvr]({"type": "ADDED", "object": document})
        self.cluster.watchers.append(self._hear)
        self.tasks = [asyncio.create_task(each()) for each in self._parts]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cluster.watchers.remove(self._hear)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def died(self) -> list[str]:
        """Return the exceptions of parts that have ended: none of them may."""
        ended = [task for task in self.tasks if task.done() and not task.cancelled()]
        return [repr(task.exception()) for task in ended]

    def _hear(self, gvr: GVR, change: Change, document: Document) -> None:
        if gvr in self._taken:
            due = asyncio.get_running_loop().time() + ECHO_SECONDS
            self._watch.put_nowait((due, gvr, change, document))

    async def _listen(self) -> None:
        while True:
            due, gvr, change, document = await self._watch.get()
            await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
            self._taken[gvr]({"type": change, "object": document})
