"""However often and long the event loop stands still, every watch goes on, with each source."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.client.connection import Connection
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.decode.events import EventHandlers, LeftOutObjects, Sink
from gang_scheduler.event_loops import EventLoop
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf, list_watch
from integration.support.running_sources import PATIENCE_SECONDS, running, source_of
from support import watched_server
from support.api_objects import pod_body
from support.builders import SCHEDULER
from support.watched_server import Watched

ROUNDS = 100
BURST = 16
"""So many pods come at once. At one of the first the loop stands still, while Kopf hands out the
others."""
FIRST = 8
SILENT_SECONDS = 0.05
PAUSE_SECONDS = 0.06
"""Longer than a watch may be silent."""


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it, other than elsewhere: it is what these tests are about."""
    return iter(())


class SlowSink:
    """Hands pods on, and at one of them lets the loop stand still.

    That is where the loop reads from its connections, as SIGSTOP meets it, or a long event.
    """

    def __init__(self, sink: Sink[Any]) -> None:
        self.pause_at = ""
        self.pauses = 0
        self._sink = sink
        self._doorbell, self._bell = socket.socketpair()
        asyncio.get_running_loop().add_reader(self._bell, self._stand_still)

    def upsert(self, decoded: Any) -> None:
        """Add or replace a pod."""
        if decoded.name == self.pause_at:
            self.pause_at = ""
            self._doorbell.send(b"!")
        self._sink.upsert(decoded)

    def close(self) -> None:
        """Stand still no more."""
        asyncio.get_running_loop().remove_reader(self._bell)
        self._bell.close()
        self._doorbell.close()

    def _stand_still(self) -> None:
        self._bell.recv(1)
        self.pauses += 1
        time.sleep(PAUSE_SECONDS)

    def delete(self, uid: str) -> None:
        """Forget a pod."""
        self._sink.delete(uid)

    def uids(self) -> Collection[str]:
        """Return the uids of all pods."""
        return self._sink.uids()

    def known(self, uid: str) -> Any:
        """Return a pod."""
        return self._sink.known(uid)


class Watching:
    """A source that runs against a server in another thread."""

    def __init__(self, kind: PodSource, connection: Connection, there: Watched) -> None:
        self.there = there
        self.cache = Cache([SCHEDULER], Changes())
        sinks = dict(kinds.sinks(self.cache))
        pods = next(reader for reader in sinks if reader.gvr == PODS)
        self.slow = sinks[pods] = SlowSink(sinks[pods])
        self.source = source_of(kind, connection, EventHandlers(sinks.items(), LeftOutObjects()))

    async def told(self, name: str, *, pauses: int) -> None:
        """Wait for a pod, and until the loop has stood still so often."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while name not in self.names() or self.slow.pauses < pauses:  # noqa: ASYNC110 - what is waited for has no event of its own.
                await asyncio.sleep(0.005)

    def names(self) -> set[str]:
        """Return the names of the pods in the cache."""
        return {pod.name for pod in self.cache.pods()}


@contextlib.asynccontextmanager
async def watching(kind: PodSource) -> AsyncIterator[Watching]:
    """Give a source that has its first lists."""
    with watched_server.watched() as there:
        async with Connection(there.server.configuration) as connection:
            found = Watching(kind, connection, there)
            async with running(found.source):
                yield found
                found.slow.close()


def burst(number: int) -> Callable[[FakeCluster], None]:
    def create(cluster: FakeCluster) -> None:
        for index in range(BURST):
            cluster.put(PODS, pod_body(f"p{number}-{index}"))

    return create


async def pause_in_bursts(kind: PodSource) -> None:
    async with watching(kind) as found:
        for number in range(ROUNDS):
            found.slow.pause_at = f"p{number}-{number % FIRST}"
            found.there.do(burst(number))
            await found.told(f"p{number}-{BURST - 1}", pauses=number + 1)
        assert ROUNDS * BURST == len(found.names())


@pytest.mark.parametrize("kind", list(PodSource))
def test_a_loop_that_stands_still_in_a_burst_of_events_ends_no_watch(
    kind: PodSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (kopf, list_watch):
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
        monkeypatch.setattr(module, "LAST_PAUSE", 0.01)
        monkeypatch.setattr(module, "SILENT_SECONDS", SILENT_SECONDS)
    monkeypatch.setattr(list_watch, "BRIEF_SECONDS", 0.0)
    with asyncio.Runner(loop_factory=EventLoop) as runner:
        runner.run(pause_in_bursts(kind))
