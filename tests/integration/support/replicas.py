"""Replicas of one scheduler that want to lead: each with its elector, on a fake API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from gang_scheduler.api.kinds import LEASES
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.leader_election import LeaderElector

HANGS = Fault(hangs=True)
OUTAGE = Fault(ApiError(503, "the API server is down"))
UNANSWERED = Fault(ApiError(0, "TimeoutError"), after=True)


def elector_of(api: FakeApi, name: str, **clocks: Any) -> LeaderElector:
    """Return an elector with the times of client-go: these tests count in them."""
    return LeaderElector(
        *(api, "ns", "lease", name),
        lease_seconds=15,
        renew_deadline=10,
        retry_seconds=2,
        **clocks,
    )


class Replica:
    """One process: its own client of the cluster, its elector and the task that runs it."""

    def __init__(
        self, cluster: FakeCluster, name: str, *, clock_is_off: timedelta = timedelta()
    ) -> None:
        self.name = name
        self.api = FakeApi(cluster)
        self.stopped_for = 0.0
        self.elector = elector_of(
            self.api,
            name,
            clock=lambda: now() + self.stopped_for,
            wall_clock=lambda: datetime.now(UTC) + clock_is_off,
        )
        self.task = asyncio.create_task(self.elector.run(), name=name)

    def loses_its_network(self, fault: Fault = HANGS) -> None:
        """Let no request of this replica reach the API server any more."""
        self.api.scripts.append(lambda _: fault)

    async def stops(self) -> None:
        """End it as the process does that is asked to."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def dies(self) -> None:
        """End it without a word."""
        self.loses_its_network(OUTAGE)
        await self.stops()


@asynccontextmanager
async def replicas(
    cluster: FakeCluster, *names: str, **options: Any
) -> AsyncIterator[list[Replica]]:
    """Start replicas, and watch all the time that never two of them lead."""
    started = [Replica(cluster, name, **options) for name in names]
    guard = asyncio.create_task(never_two(started))
    try:
        yield started
        assert not guard.done() or guard.result()
    finally:
        guard.cancel()
        for each in started:
            await each.stops()


async def never_two(running: list[Replica]) -> None:
    """Fail at the first moment at which two lead."""
    while True:
        leaders = [each.name for each in running if each.elector.is_leader()]
        assert len(leaders) <= 1, leaders
        await asyncio.sleep(0.1)


async def until(condition: Callable[[], bool], seconds: float = 60) -> float:
    """Wait for a condition and return how long that took."""
    started = now()
    with anyio.fail_after(seconds):
        while not condition():  # noqa: ASYNC110 - fencing ends by itself: nothing tells of it.
            await asyncio.sleep(0.05)
    return now() - started


def now() -> float:
    """Return the time of the loop, in seconds."""
    return asyncio.get_running_loop().time()


def spec(cluster: FakeCluster) -> dict[str, Any]:
    """Return what the Lease says."""
    found: dict[str, Any] = cluster.get(LEASES, "ns", "lease")["spec"]
    return found
