"""What becomes of the tasks of Kopf when one of them fails, and of their errors."""

import asyncio
import gc
import logging
from typing import Any

import anyio
import kopf
import pytest
from kopf._cogs.aiokits import aiotasks, aiotoggles
from kopf._cogs.clients import api, scanning
from kubernetes_asyncio.client import Configuration

from gang_scheduler.client.connection import Connection
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch import kopf as watch_kopf
from gang_scheduler.watch.kopf import KopfSource, Relist
from gang_scheduler.watch.sweep import Sweep
from support import cache_feeding
from support.builders import SCHEDULER


async def fail() -> None:
    raise ValueError("why")


def source() -> KopfSource:
    event_handlers = cache_feeding.event_handlers(Cache([SCHEDULER], Changes()))
    connection = Connection(Configuration())
    sweep = Sweep(FakeApi(), event_handlers, interval_seconds=3600)
    return KopfSource(connection, event_handlers, sweep, Relist(connection, event_handlers))


async def test_when_one_task_of_kopf_fails_no_watcher_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watchers: list[asyncio.Task[None]] = []

    async def spawn_tasks(**_: object) -> list[asyncio.Task[None]]:
        watchers.append(aiotasks.create_guarded_task(asyncio.sleep(3600), "watcher"))
        return [asyncio.create_task(fail())]

    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)

    assert "ValueError('why')" == await source()._run_once()
    assert [True] == [each.done() for each in watchers]


async def test_a_watcher_that_goes_on_when_it_is_cancelled_is_cancelled_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cancelled = 0

    async def go_on_once() -> None:
        nonlocal cancelled
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled += 1
        await asyncio.sleep(3600)

    async def spawn_tasks(**_: object) -> list[asyncio.Task[None]]:
        aiotasks.create_guarded_task(go_on_once(), "watcher")
        return [asyncio.create_task(fail())]

    monkeypatch.setattr(watch_kopf, "CANCEL_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)

    assert "ValueError('why')" == await source()._run_once()
    assert 1 == cancelled


async def test_watchers_end_also_where_kopf_takes_a_cancellation_for_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = asyncio.Event()

    async def request(**_: object) -> None:
        opened.set()
        await asyncio.sleep(3600)

    async def watch(paused: asyncio.Task[None], settings: kopf.OperatorSettings) -> None:
        while True:
            logger = logging.getLogger("kopf")
            async for _ in api.stream("/", settings=settings, stopper=paused, logger=logger):
                pass

    async def spawn_tasks(settings: kopf.OperatorSettings, **_: object) -> list[asyncio.Task[Any]]:
        paused = asyncio.create_task(aiotoggles.ToggleSet(any).wait_for(True))  # noqa: FBT003 - its parameter has no name.
        watchers.append(aiotasks.create_guarded_task(watch(paused, settings), "watcher"))
        await opened.wait()
        return [asyncio.create_task(fail())]

    watchers: list[asyncio.Task[None]] = []
    monkeypatch.setattr(api, "request", request)
    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)

    with anyio.fail_after(10):
        assert "ValueError('why')" == await source()._run_once()
    assert [True] == [each.cancelled() for each in watchers]


async def test_requests_that_kopf_leaves_when_others_fail_are_ended_and_not_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def get(url: str, **_: object) -> Any:
        if url == "/api":
            return {"versions": ["hangs", "fails", "fails-later"]}
        await asyncio.sleep({"/api/fails": 0.0, "/api/fails-later": 0.01}.get(url, 3600))
        raise ValueError(url)

    async def spawn_tasks(**how: Any) -> list[asyncio.Task[Any]]:
        scan = scanning.scan_resources(settings=how["settings"], logger=logging.getLogger("kopf"))
        return [asyncio.create_task(scan)]

    async def look_after(_: KopfSource) -> None:
        await asyncio.sleep(3600)

    asyncio.get_running_loop().set_exception_handler(watch_kopf._pass_on)
    monkeypatch.setattr(api, "get", get)
    monkeypatch.setattr(kopf, "spawn_tasks", spawn_tasks)
    monkeypatch.setattr(KopfSource, "_look_after", look_after)

    assert "ValueError('/api/fails')" == await source()._run_once()
    assert {asyncio.current_task()} == asyncio.all_tasks()
    gc.collect()
    assert [] == caplog.messages


async def test_an_error_that_kopf_has_logged_is_not_logged_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asyncio.get_running_loop().set_exception_handler(watch_kopf._pass_on)

    task = aiotasks.create_guarded_task(fail(), "watcher", logger=logging.getLogger("kopf"))
    await asyncio.wait([task])
    del task
    gc.collect()

    assert ["Watcher has failed: why"] == caplog.messages


async def test_an_error_of_a_task_of_ours_that_is_not_asked_for_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    asyncio.get_running_loop().set_exception_handler(watch_kopf._pass_on)

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    gc.collect()

    (message,) = caplog.messages
    assert message.startswith("Task exception was never retrieved")
