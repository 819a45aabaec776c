"""One life of the operator on a fake API server: all of its parts that decide and write."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Self

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.writing import Writes
from gang_scheduler.report.failure_events import DegradedEvents
from gang_scheduler.report.missing_members import MissingMembers
from gang_scheduler.report.queues.gang_texts import EvictionTexts, QueuePlaces
from gang_scheduler.report.status_writer import StatusWriter
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support.parts import CONCURRENCY, NO_BACKPRESSURE, Parts
from support.watches import DelayedWatch

OURS = "py-gang-scheduler"


class Process:
    """Use as an async context manager; leaving it is a kill at that moment."""

    def __init__(self, cluster: FakeCluster, clock: Callable[[], float]) -> None:
        self.cluster = cluster
        self.api = FakeApi(cluster)
        changes = Changes()
        self.cache = Cache([OURS], changes)
        parts = Parts(self.api, self.cache, changes, clock=clock)
        status = StatusWriter(
            *(self.api, self.cache),
            interval_seconds=1,
            concurrency=CONCURRENCY,
            lost_nominations=parts.lost_nominations,
            backpressure=NO_BACKPRESSURE,
            missing_members=MissingMembers(self.cache, parts.events),
            degraded=DegradedEvents(self.cache, parts.events),
            places=QueuePlaces(),
            writes=Writes(),
            evictions=EvictionTexts(self.cache, Naming()),
            pod_events=parts.pod_events,
            clock=clock,
        )
        self._watch = DelayedWatch(cluster, self.cache)
        self._parts: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (
            self._watch.run,
            *parts.that_run,
            status.run,
            parts.pod_events.run,
        )
        self.tasks: list[asyncio.Task[Any]] = []

    async def __aenter__(self) -> Self:
        self._watch.list()
        self._watch.begin()
        self.tasks = [asyncio.create_task(each()) for each in self._parts]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._watch.end()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    def died(self) -> list[str]:
        """Return the exceptions of parts that have ended: none of them may."""
        ended = [task for task in self.tasks if task.done() and not task.cancelled()]
        return [repr(task.exception()) for task in ended]
