"""When a view is made: when a client asks, once for all, and no more than once a second."""

import asyncio
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import pytest

from gang_scheduler import internal_errors
from gang_scheduler.api.kinds import POD_GROUPS, QUEUES
from gang_scheduler.client.errors import ApiError
from gang_scheduler.inspection.cluster import Cluster
from gang_scheduler.inspection.live import OperatorSettings
from gang_scheduler.inspection.servers import Server
from gang_scheduler.inspection.watched import WatchedCluster
from gang_scheduler.page.sources import (
    LEAST_SECONDS,
    MOST_OF_USER,
    REFUSED_SECONDS,
    OfServer,
    TooManyQuestions,
    Views,
)
from gang_scheduler.page.view import Heartbeat, Reading, View
from gang_scheduler.settings.policy import Policy
from support.listed_clusters import gang, node
from support.pages import source_of

CLUSTER = [node("node-0"), *gang("waits", 2)]


class Counted:
    """A source that counts its readings, takes a while for each, and can break."""

    def __init__(self, directory: Path, clock: list[float], seconds: float = 0.0) -> None:
        self.still = False
        self.readings = 0
        self.broken = ""
        self.problem = ""
        self.threads: set[str] = set()
        self._of_files = source_of(directory, CLUSTER)
        self._clock = clock
        self._seconds = seconds

    def read(self) -> Reading:
        """Return the cluster, or raise."""
        self.readings += 1
        self.threads.add(threading.current_thread().name)
        self._clock[0] += self._seconds
        if self.broken:
            raise ApiError(0, self.broken)
        return self._of_files.read()._replace(problem=self.problem)

    def tried(self, manifests: str) -> Cluster:
        """Return the cluster with these."""
        return self._of_files.tried(manifests)

    def close(self) -> None:
        """Do nothing."""


@pytest.fixture
def clock() -> list[float]:
    return [1000.0]


def views_of(source: Counted, clock: list[float]) -> Views:
    """Return the views of a source by this clock."""
    return Views(source, lambda: clock[0])


async def test_users_take_turns_however_many_questions_one_has(
    tmp_path: Path, clock: list[float]
) -> None:
    views = views_of(Counted(tmp_path, clock), clock)
    may_go, answered = threading.Event(), list[str]()

    def question(user: str) -> None:
        may_go.wait(10)
        answered.append(user)

    async def asked(user: str) -> None:
        await views.ask(lambda _: question(user), user)

    async with anyio.create_task_group() as group:
        for user in ("greedy",) * MOST_OF_USER + ("modest", "other"):
            group.start_soon(asked, user)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(TooManyQuestions):
            await asked("greedy")
        may_go.set()
    await views.close()

    assert ["greedy", "modest", "other"] == answered[:3]
    assert MOST_OF_USER == answered.count("greedy")


async def test_the_accounts_of_a_namespace_take_turns_as_one_user(
    tmp_path: Path, clock: list[float]
) -> None:
    views = views_of(Counted(tmp_path, clock), clock)
    may_go, answered = threading.Event(), list[str]()

    def question(user: str) -> None:
        may_go.wait(10)
        answered.append(user)

    async def asked(user: str) -> None:
        await views.ask(lambda _: question(user), user)

    accounts = [f"system:serviceaccount:team:{each}" for each in range(MOST_OF_USER)]
    async with anyio.create_task_group() as group:
        for user in (*accounts, "modest"):
            group.start_soon(asked, user)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        with pytest.raises(TooManyQuestions):
            await asked("system:serviceaccount:team:other")
        may_go.set()
    await views.close()

    assert answered.index("modest") <= 1


async def test_nothing_is_read_before_a_client_asks_and_once_for_all(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)
    assert 0 == source.readings

    seen = await asyncio.gather(*(views.latest() for _ in range(20)))
    await views.close()

    assert 1 == source.readings
    assert 1 == len({id(each.view) for each in seen})
    assert threading.current_thread().name not in source.threads


async def test_a_view_lasts_a_second(tmp_path: Path, clock: list[float]) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)

    for step, readings in ((0.0, 1), (LEAST_SECONDS / 2, 1), (LEAST_SECONDS / 2, 2)):
        clock[0] += step
        await views.latest()
        assert readings == source.readings
    await views.close()


async def test_a_cluster_that_takes_long_is_read_less_often(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock, seconds=2.0)
    views = views_of(source, clock)

    await views.latest()
    for step, readings in ((5.9, 1), (0.2, 2)):
        clock[0] += step
        await views.latest()
        assert readings == source.readings
    await views.close()


async def test_a_view_is_not_made_later_because_other_programs_have_the_processor(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)

    def wait(_: View) -> None:
        clock[0] += 30

    views.note_each(wait)
    await views.latest()
    clock[0] += LEAST_SECONDS
    await views.latest()
    await views.close()

    assert 2 == source.readings


async def test_the_last_view_stays_while_the_cluster_cannot_be_read(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock)
    views = views_of(source, clock)
    first = await views.latest()

    source.broken, clock[0] = "no route", clock[0] + 10
    stale = await views.latest()
    source.broken, clock[0] = "", clock[0] + 10
    again = await views.latest()
    await views.close()

    assert first.view is stale.view
    assert "the cluster cannot be read: no route" == stale.problem
    assert "" == again.problem
    assert again.view is not first.view


async def test_files_are_read_once(tmp_path: Path, clock: list[float]) -> None:
    source = Counted(tmp_path, clock)
    source.still = True
    views = views_of(source, clock)

    await views.latest()
    clock[0] += 10_000
    await views.latest()
    await views.close()

    assert 1 == source.readings


class Watching:
    """A watched cluster whose first lists are not complete, and whose watch fails at once."""

    is_complete = False
    failure = None
    held_back = 0

    async def run(self) -> None:
        """Fail."""
        raise KeyError("node-0")

    async def complete(self) -> None:
        """Wait for the first lists."""
        await asyncio.Event().wait()

    def take_in(self) -> None:
        """Do nothing."""


def server_source() -> OfServer:
    """Return the source of a server that no test asks."""
    return OfServer("", "", 1.0, "", Policy())


async def test_a_reading_learns_at_once_that_the_watch_of_its_first_lists_has_failed() -> None:
    source = server_source()
    watched: Any = Watching()
    source._watched, source._asked_at = watched, time.monotonic()
    reading = asyncio.get_running_loop().run_in_executor(None, source._watched_cluster)
    await source._watch(watched)

    with anyio.fail_after(LEAST_SECONDS), pytest.raises(ApiError, match="watches have ended"):
        await reading
    assert "the cluster of the page" in internal_errors.problem()


def test_a_refusal_to_watch_counts_for_five_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clock: list[float]
) -> None:
    source = server_source()
    cluster = source_of(tmp_path, CLUSTER).read().cluster
    tries = list[float]()

    def watched() -> Cluster | None:
        tries.append(clock[0])
        return None if len(tries) == 1 else cluster

    def asked(ask: Any) -> Any:
        return Reading(cluster) if ask == source._listed else (None, Heartbeat())

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(source, "_watched_cluster", watched)
    monkeypatch.setattr(source, "_run", asked)
    source.read()
    clock[0] += REFUSED_SECONDS - 1
    source.read()
    assert [1000.0] == tries
    clock[0] += 1
    assert Heartbeat() == source.read().heartbeat

    assert [1000.0, 1000.0 + REFUSED_SECONDS] == tries


async def test_a_kind_that_may_have_changed_unseen_is_named_until_its_watch_goes_on(
    tmp_path: Path, clock: list[float]
) -> None:
    source = Counted(tmp_path, clock)
    views, found = views_of(source, clock), []
    for source.problem in ("", "changes of queues may be missing: no route", ""):
        clock[0] += LEAST_SECONDS
        found.append(await views.latest())
    await views.close()

    assert ["", "changes of queues may be missing: no route", ""] == [
        each.problem for each in found
    ]
    assert 3 == len({each.version for each in found})


async def test_a_watched_cluster_names_each_kind_whose_watch_has_failed() -> None:
    connection: Any = None
    watched = WatchedCluster(Server(connection, "", 1.0), OperatorSettings(Policy()))
    assert "" == watched.problem
    for each in watched._reflector._kinds:
        if each.name in (QUEUES.name, POD_GROUPS.name):
            each.failure = ApiError(0, "no route")
    watched.is_complete = True

    for name in (QUEUES.name, POD_GROUPS.name):
        assert f"changes of {name} may be missing: no route" in watched.problem
    assert watched.failure is None
