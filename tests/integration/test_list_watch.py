"""Whatever befalls a watch, the cache comes to be what the API server has."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import GVR, NATIVE_POD_GROUPS, PODS, PYTORCH_JOBS
from gang_scheduler.client.connection import Connection
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kinds, list_watch
from gang_scheduler.watch.known_objects import KnownObjects
from gang_scheduler.watch.list_watch import ListWatch
from gang_scheduler.watch.synced import ChangeCount
from integration.support.scripted_server import CUT, HANG, ScriptedServer, Step, failure, line, page
from support import cache_feeding, metric_values
from support.api_objects import pod_body
from support.builders import SCHEDULER

A, B, C = (pod_body(name) for name in "abc")
JOB = {"metadata": {"name": "a", "namespace": "default", "uid": "job", "resourceVersion": "7"}}
BOOKMARK = line("BOOKMARK", {}, 20)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten all pauses."""
    monkeypatch.setattr(list_watch, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(list_watch, "LAST_PAUSE", 0.01)
    monkeypatch.setattr(list_watch, "SETTLE_SECONDS", 0.001)


class Watching:
    """A list-watch that runs against a scripted server."""

    def __init__(self, server: ScriptedServer, connection: Connection, gvr: GVR) -> None:
        self.server = server
        self.cache = Cache([SCHEDULER], Changes())
        self.crds = ChangeCount()
        event_handlers = cache_feeding.event_handlers(self.cache)
        handler = event_handlers.of(gvr)
        known_objects = KnownObjects(handler, event_handlers.versions)
        self.list_watch = ListWatch(connection, handler.versions, known_objects, self.crds)
        self.handler = handler

    def names(self) -> str:
        """Return the names of the pods in the cache, in one word."""
        return "".join(sorted(pod.name for pod in self.cache.pods()))

    async def asked(self, *expected: str) -> None:
        """Wait for so many requests, which must be these."""
        await until(lambda: len(self.server.asked) >= len(expected))
        assert [*expected] == self.server.asked


@contextlib.asynccontextmanager
async def watching(
    lists: Sequence[dict[str, Any] | int],
    watches: Sequence[Sequence[Step] | int] = (),
    gvr: GVR = PODS,
) -> AsyncIterator[Watching]:
    """Give a list-watch that runs."""
    async with (
        ScriptedServer(lists, watches) as server,
        Connection(server.configuration) as connection,
    ):
        made = Watching(server, connection, gvr)
        task = asyncio.create_task(made.list_watch.run())
        yield made
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def until(done: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not done():  # noqa: ASYNC110 - what is waited for has no event of its own.
            await asyncio.sleep(0.005)


async def test_a_list_is_read_page_by_page_and_watched_from_its_version() -> None:
    pages = [page(A, version=5, following="2"), page(B, version=5)]
    async with watching(pages, [[line("ADDED", C, 6), HANG]]) as found:
        await until(lambda: found.names() == "abc")

        await found.asked("list", "list 2", "watch 5")


@pytest.mark.parametrize("ending", [[], [CUT], [line("ADDED", C, 9)[:40]], [b"<html>\n"]])
async def test_a_watch_that_ends_goes_on_from_the_last_version(ending: list[Step]) -> None:
    began = [line("ADDED", B, 7), *ending]
    async with watching([page(A)], [began, [line("ADDED", C, 9), HANG]]) as found:
        await until(lambda: found.names() == "abc")

        await found.asked("list", "watch 1", "watch 7")


async def test_a_bookmark_is_a_version_to_go_on_from() -> None:
    async with watching([page(A)], [[BOOKMARK, CUT]]) as found:
        await found.asked("list", "watch 1", "watch 20")


async def test_a_silent_watch_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_watch, "SILENT_SECONDS", 0.1)
    async with watching([page(A)], [[line("ADDED", B, 7), HANG], [BOOKMARK, HANG]]) as found:
        await until(lambda: len(found.server.asked) >= 4)

        assert ["list", "watch 1", "watch 7", "watch 20"] == found.server.asked[:4]


@pytest.mark.parametrize("expired", [410, [failure(410)], [line("ADDED", C, 7), failure(410)]])
async def test_a_version_that_is_forgotten_is_followed_by_a_list(expired: Any) -> None:
    async with watching([page(A, B), page(B, version=30)], [expired]) as found:
        await until(lambda: found.names() == "b")

        await found.asked("list", "watch 1", "list", "watch 30")


@pytest.mark.parametrize("broken", [503, 500, 429, [failure(500)], [failure(504)]])
async def test_a_failure_that_may_pass_is_waited_out(broken: Any) -> None:
    async with watching([page(A)], [broken, [line("ADDED", B, 7), HANG]]) as found:
        await until(lambda: found.names() == "ab")

        await found.asked("list", "watch 1", "watch 1")


async def test_a_failure_that_does_not_pass_is_followed_by_a_list() -> None:
    failures = [[failure(500)]] * (list_watch.RESUMES + 1)
    async with watching([page(A), page(B, version=30)], failures) as found:
        await until(lambda: found.names() == "b")

        await found.asked("list", *["watch 1"] * len(failures), "list", "watch 30")


async def test_a_day_without_an_api_server_is_waited_out() -> None:
    async with watching([503, 503, page(A)]) as found:
        found.list_watch._failures = 50_000
        await until(lambda: found.names() == "a")


@pytest.mark.parametrize("status", [500, 429, 403, 410])
async def test_a_list_that_fails_is_tried_again(status: int) -> None:
    async with watching([page(A, following="2"), status, page(B)]) as found:
        await until(lambda: found.names() == "b")

        await found.asked("list", "list 2", "list", "watch 1")


async def test_an_overloaded_server_is_left_alone_for_as_long_as_it_says() -> None:
    async with watching([429, page(A)]) as found:
        found.server.retry_after = "0.3"
        began = asyncio.get_running_loop().time()
        await found.list_watch.up_to_date.wait()

    assert asyncio.get_running_loop().time() - began > 0.3


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pods be of a CRD."""
    monkeypatch.setattr(kinds, "DECISIVE", frozenset())


async def test_pods_are_always_served_whatever_is_answered() -> None:
    async with watching([page(A), 404, page(A, B)], [404]) as found:
        await until(lambda: found.names() == "ab")

        await until(lambda: found.list_watch.served)


@pytest.mark.usefixtures("absent")
async def test_a_kind_whose_crd_goes_is_gone_and_comes_back_with_it() -> None:
    async with watching([page(A), 404, page(B)], [404]) as found:
        await until(lambda: len(found.server.asked) == 3 and not found.names())
        assert not found.list_watch.served

        found.crds.changed()
        await until(lambda: found.names() == "b")

        await until(lambda: found.list_watch.served)


@pytest.mark.usefixtures("absent")
async def test_a_kind_that_is_served_some_time_after_its_crd_changed_is_looked_for_again() -> None:
    async with watching([404, 404, 404, 404, page(A)]) as found:
        await until(lambda: found.server.asked.count("list") == 1)
        found.crds.changed()

        await until(lambda: found.names() == "a")


@pytest.mark.usefixtures("absent")
async def test_later_lists_are_counted_and_a_watch_has_an_age_while_there_is_one() -> None:
    expired, kind = [failure(410)], PODS.name
    with metric_values.growing("pgs_relists_total") as grown:
        async with watching([page(A, B), page(B, version=30), 404], [expired, [HANG]]) as found:
            await until(lambda: found.names() == "b" and found.server.asked[-1] == "watch 30")
            assert metric_values.counted("pgs_watch_age_seconds", kind=kind) < 60
            found.list_watch.list_anew()
            await until(lambda: not found.names() and not found.list_watch.served)
            assert metric_values.sample("pgs_watch_age_seconds", kind=kind) is None

    assert {(kind,): 2} == grown


def forbidden() -> float:
    return metric_values.counted("pgs_kind_forbidden", kind=PYTORCH_JOBS.name)


@pytest.mark.usefixtures("absent")
async def test_a_kind_of_workloads_that_may_not_be_read_holds_nothing_up() -> None:
    async with watching([403, page(version=3), 403], [[HANG]], gvr=PYTORCH_JOBS) as found:
        await found.list_watch.up_to_date.wait()
        assert (False, 1) == (found.list_watch.served, forbidden())
        assert [PYTORCH_JOBS.name] == found.list_watch.forbidden

        found.crds.changed()
        await found.asked("list", "list", "watch 3")
        assert (True, 0) == (found.list_watch.served, forbidden())

        found.list_watch.list_anew()
        await found.list_watch.up_to_date.wait()
        assert (False, 1) == (found.list_watch.served, forbidden())


async def test_workloads_that_may_not_be_read_for_a_moment_are_remembered() -> None:
    lists: list[dict[str, Any] | int] = [page(JOB), 403, 403, page(JOB, version=9)]
    async with watching(lists, [[HANG], [HANG]], gvr=PYTORCH_JOBS) as found:
        await until(lambda: found.list_watch.served)

        found.list_watch.list_anew()
        await until(lambda: bool(forbidden()))
        for _ in range(20):
            assert ["job"] == [*found.handler.uids()]
            await asyncio.sleep(0.001)

        await until(lambda: found.list_watch.served)
        assert ["job"] == [*found.handler.uids()]


async def test_workloads_that_may_be_read_again_come_back_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kinds, "BRIEF_SECONDS", 0)
    lists: list[dict[str, Any] | int] = [page(JOB), 403, page(JOB, version=9)]
    async with watching(lists, [[HANG], [HANG]], gvr=PYTORCH_JOBS) as found:
        await until(lambda: found.list_watch.served)

        found.list_watch.list_anew()
        await until(lambda: not found.handler.uids())

        found.crds.changed()
        await until(lambda: ["job"] == [*found.handler.uids()])


async def test_another_kind_that_may_not_be_read_is_insisted_on() -> None:
    async with watching([403, 403, page(version=3)], gvr=NATIVE_POD_GROUPS[-1]) as found:
        await until(lambda: len(found.server.asked) > 2)

        await until(lambda: found.list_watch.served)


async def test_the_best_version_that_is_served_is_watched() -> None:
    async with watching([404, page(version=3)], gvr=NATIVE_POD_GROUPS[0]) as found:
        await found.asked("list", "list", "watch 3")


async def test_it_is_known_whether_anything_may_be_missing() -> None:
    async with watching([503, page(A)], [[failure(410)]]) as found:
        assert not found.list_watch.up_to_date.is_set()
        await found.list_watch.up_to_date.wait()

        # No more lists are answered.
        await until(lambda: not found.list_watch.up_to_date.is_set())


async def test_a_watch_that_is_not_believed_is_replaced_by_a_list() -> None:
    async with watching([page(A), page(B, version=30)], [[HANG]]) as found:
        await found.asked("list", "watch 1")

        found.list_watch.list_anew()
        assert not found.list_watch.up_to_date.is_set()
        await found.list_watch.up_to_date.wait()

        assert "b" == found.names()
        await found.asked("list", "watch 1", "list", "watch 30")
