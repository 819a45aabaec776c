"""A watch whose task has died, or is stuck, is restarted, with each source."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import CRDS, GVR, NATIVE_POD_GROUPS, NODES, PODS, PYTORCH_JOBS
from gang_scheduler.client.connection import Connection
from gang_scheduler.settings.choices import PodSource
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf, list_watch, synced
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.supervisor import (
    Limits,
    Tried,
    WatchDeadError,
    WatchSupervisor,
    WatchTrial,
)
from integration.support.running_sources import running, source_of
from integration.support.scripted_server import HANG, ScriptedServer, Step, page
from support import cache_feeding
from support.api_objects import pod_body
from support.builders import SCHEDULER
from support.metric_values import growing
from support.watched_server import WatchedServer

SILENT_SECONDS = 0.2
LIMITS = Limits(anew=1.0, dead=2.0, look=0.1, recent=60.0, answer=5.0)
PATIENCE_SECONDS = 30.0
BEGUN_ANEW = "pgs_watches_begun_anew_total"


@pytest.fixture(autouse=True)
def blocking_is_an_error() -> Iterator[None]:
    """Allow it, other than elsewhere: Kopf reads files on the event loop."""
    return iter(())


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a silent watch be begun again soon, and forget the watches of other tests."""
    for module in (kopf, list_watch):
        monkeypatch.setattr(module, "FIRST_PAUSE", 0.001)
        monkeypatch.setattr(module, "LAST_PAUSE", 0.01)
        monkeypatch.setattr(module, "SILENT_SECONDS", SILENT_SECONDS)
    monkeypatch.setattr(list_watch, "BRIEF_SECONDS", 0.0)
    for kind in synced.ages():
        synced.not_served(kind)
    yield
    for kind in synced.ages():
        synced.not_served(kind)


class Watching:
    """A source under supervision, and the API server that it watches."""

    def __init__(self, kind: PodSource, server: WatchedServer, connection: Connection) -> None:
        self.server = server
        self.cache = Cache([SCHEDULER], Changes())
        handlers = cache_feeding.event_handlers(self.cache)
        self.source = source_of(kind, connection, handlers)
        kinds = (*(each.versions for each in handlers.all), (CRDS,))
        self.supervisor = WatchSupervisor(
            WatchTrial(connection, kinds), self.source.begin_anew, LIMITS
        )

    async def told(self, name: str) -> None:
        """Create a pod, and wait until it is known."""
        self.server.cluster.put(PODS, pod_body(name))
        await until(lambda: name in {pod.name for pod in self.cache.pods()})


@contextlib.asynccontextmanager
async def watching(kind: PodSource) -> AsyncIterator[Watching]:
    """Give a source that has its first lists."""
    async with WatchedServer() as server, Connection(server.configuration) as connection:
        found = Watching(kind, server, connection)
        async with running(found.source):
            yield found


async def until(done: Callable[[], bool]) -> None:
    with anyio.fail_after(PATIENCE_SECONDS):
        while not done():  # noqa: ASYNC110 - what is waited for has no event of its own.
            await asyncio.sleep(0.01)


class Hanging:
    """Lets the watch of pods by the reflector hang, as no silence on its connection ends it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.times = 0
        self._take = ListWatch._take_changes
        hanging = self

        async def take(each: ListWatch) -> None:
            if each.name == PODS.name and hanging.times > 0:
                hanging.times -= 1
                await asyncio.Event().wait()
            await hanging._take(each)

        monkeypatch.setattr(ListWatch, "_take_changes", take)


async def kill_the_watch_of_kopf() -> None:
    """Cancel the task of a watch, as Kopf's own bound on silence does."""
    name = "watcher for pods.v1@None"
    (task,) = [each for each in asyncio.all_tasks() if each.get_name() == name]
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("kind", list(PodSource))
async def test_a_watch_that_has_died_is_begun_anew(
    kind: PodSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = Hanging(monkeypatch)
    async with watching(kind) as found:
        await found.told("a")
        if kind is PodSource.KOPF:
            await kill_the_watch_of_kopf()
        else:
            hanging.times = 1
            # Not before the connection that there is has been silent.
            await until(lambda: hanging.times == 0)
        with growing(BEGUN_ANEW) as grown:
            supervising = asyncio.create_task(found.supervisor.run())
            await found.told("b")

        assert {(PODS.name,): 1} == grown
        await asyncio.sleep(2 * LIMITS.anew)
        assert {(PODS.name,): 1} == grown
        assert "" == found.supervisor.problem()
        supervising.cancel()


async def test_a_watch_that_hangs_again_and_again_is_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging(monkeypatch)
    async with watching(PodSource.REFLECTOR) as found:
        await found.told("a")
        hanging.times = 100

        with pytest.raises(WatchDeadError, match="the watch of pods has received nothing"):
            with anyio.fail_after(PATIENCE_SECONDS):
                await found.supervisor.run()


@pytest.mark.parametrize("kind", list(PodSource))
async def test_watches_that_nobody_answers_are_no_fault_of_this_process(kind: PodSource) -> None:
    async with watching(kind) as found:
        await found.told("a")
        found.server.unanswered.add(PODS)
        with growing(BEGUN_ANEW) as grown, anyio.move_on_after(3 * LIMITS.dead):
            await found.supervisor.run()

        assert {} == grown
        assert found.supervisor.problem().startswith("the watch of pods has received nothing for ")
        found.server.unanswered.clear()
        await found.told("b")
        # A list may have told of it before the watch is answered.
        await until(lambda: found.supervisor.problem() == "")


async def tried(
    lists: Sequence[dict[str, Any] | int], watches: Sequence[Sequence[Step] | int], *kinds: GVR
) -> Tried:
    """Try a watch of a kind, on a server that answers so."""
    async with (
        ScriptedServer(lists, watches) as server,
        Connection(server.configuration) as connection,
    ):
        found = await WatchTrial(connection, [kinds])(kinds[0].name)
        assert "watch" not in "".join(server.asked) or "watch 7" == server.asked[-1]
        return found


@pytest.mark.parametrize(
    ("lists", "watches", "kinds", "expected"),
    [
        ([page(version=7)], [[HANG]], [PODS], Tried.ANSWERED),
        ([404, page(version=7)], [[HANG]], NATIVE_POD_GROUPS[:2], Tried.ANSWERED),
        ([500], [], [PODS], Tried.REFUSED),
        ([page(version=7)], [429], [PODS], Tried.REFUSED),
        ([404], [], [NODES], Tried.REFUSED),
        ([403], [], [NODES], Tried.REFUSED),
        ([404], [], [PYTORCH_JOBS], Tried.ABSENT),
        ([403], [], [PYTORCH_JOBS], Tried.ABSENT),
    ],
)
async def test_what_a_trial_finds(
    lists: Sequence[dict[str, Any] | int],
    watches: Sequence[Sequence[Step] | int],
    kinds: Sequence[GVR],
    expected: Tried,
) -> None:
    assert expected is await tried(lists, watches, *kinds)


async def test_a_trial_that_nobody_answers_is_lost() -> None:
    async with WatchedServer() as server, Connection(server.configuration) as connection:
        server.unanswered.add(PODS)
        trial = WatchTrial(connection, [(PODS,)], Limits(answer=0.1))

        assert Tried.LOST is await trial(PODS.name)
