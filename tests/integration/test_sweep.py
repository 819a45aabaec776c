"""A sweep finds what no watch has told, also of whole kinds; the first lists ask for none."""

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from gang_scheduler.api.kinds import JOB_SETS, POD_GROUPS, PODS, PYTORCH_JOBS
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.client.fake.cluster import FakeCluster
from gang_scheduler.client.interfaces import Body
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.watch.kinds import BRIEF_SECONDS
from gang_scheduler.watch.sweep import (
    AFTER_LIST_SECONDS,
    LIST_AGAIN_SECONDS,
    LOOK_FOR_KINDS_SECONDS,
    STALLS,
    KindsNotWatchedError,
    Sweep,
)
from support import api_objects, builders, cache_feeding

pytestmark = pytest.mark.looptime

NAMES = ("a", "b")
SLOW = Fault(delay_seconds=0.2)


class Watch:
    """Two pods on a fake API server, and what a watch of them tells a cache."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.api = FakeApi(self.cluster)
        self.cache = Cache([builders.SCHEDULER], Changes())
        self.event_handlers = cache_feeding.event_handlers(self.cache)
        self.sweep = Sweep(self.api, self.event_handlers, interval_seconds=3600)
        for name in NAMES:
            self.cluster.put(PODS, api_objects.pod_body(name))

    def list(self) -> None:
        """List all pods that there are."""
        for body in self.cluster.all(PODS):
            self.told_of(body)

    def told_of(self, body: Body) -> None:
        """Take in one pod of a list."""
        self.sweep.listed(self.event_handlers.of(PODS), body["metadata"]["uid"])
        self.event_handlers.of(PODS).handle({"type": None, "object": body})

    async def start(self, *steps: Callable[[], None]) -> None:
        """Start, with these steps before the first lists are complete."""
        started = asyncio.create_task(self.sweep.wait_until_complete())
        await asyncio.sleep(1)
        for step in steps:
            step()
        await started

    async def run(self) -> None:
        """Let it run for long enough to do what it was asked for."""
        running = asyncio.create_task(self.sweep.run())
        await asyncio.sleep(2 * AFTER_LIST_SECONDS)
        running.cancel()

    def pods(self) -> set[str]:
        """Return the names of those in the cache."""
        return {pod.name for pod in self.cache.pods()}


async def test_the_first_lists_ask_for_no_sweep() -> None:
    watch = Watch()
    await watch.start(watch.list)
    watch.cluster.delete(PODS, "default", "a")

    await watch.run()

    assert {"a", "b"} == watch.pods()


async def test_a_pod_that_was_deleted_before_a_second_list_during_the_start_is_swept() -> None:
    watch = Watch()
    await watch.start(
        watch.list,
        lambda: watch.cluster.delete(PODS, "default", "a"),
        watch.list,
    )

    await watch.run()

    assert {"b"} == watch.pods()


async def test_a_start_at_which_nothing_more_comes_of_a_kind_is_no_start() -> None:
    watch = Watch()

    with pytest.raises(KindsNotWatchedError, match="pods"):
        await watch.start()


async def test_a_list_that_takes_long_has_longer_at_the_next_start() -> None:
    watch = Watch()
    with pytest.raises(KindsNotWatchedError):
        await watch.start()
    started = asyncio.create_task(watch.sweep.wait_until_complete())
    await asyncio.sleep((STALLS + 2) * LIST_AGAIN_SECONDS)
    watch.list()

    await started

    assert set(NAMES) == watch.pods()


async def test_a_start_may_be_slow_as_long_as_something_comes() -> None:
    watch = Watch()
    for number in range(20):
        watch.cluster.put(PODS, api_objects.pod_body(f"slow-{number}"))
    started = asyncio.create_task(watch.sweep.wait_until_complete())
    for body in list(watch.cluster.all(PODS)):
        await asyncio.sleep(2 * LIST_AGAIN_SECONDS)
        watch.told_of(body)

    await started

    assert 20 + len(NAMES) == len(watch.pods())


async def test_a_start_ends_although_pods_go_while_others_are_waited_for() -> None:
    watch = Watch()
    for number in range(200):
        watch.cluster.put(PODS, api_objects.pod_body(f"short-{number}"))
    first, *others = watch.cluster.all(PODS)
    # So long takes the API server for each kind: no moment has all that was listed.
    watch.api.scripts.append(lambda call: SLOW if call.method == "uids" else None)
    started = asyncio.create_task(watch.sweep.wait_until_complete())
    for body in others:
        watch.told_of(body)
    await asyncio.sleep(LIST_AGAIN_SECONDS)
    watch.told_of(first)

    for body in others:
        await asyncio.sleep(1)
        watch.event_handlers.of(PODS).handle({"type": "DELETED", "object": body})
        watch.cluster.delete(PODS, "default", body["metadata"]["name"])
        if started.done():
            break

    assert started.done()
    await started


async def test_a_kind_that_no_watch_reports_is_found() -> None:
    watch = Watch()

    with (
        pytest.raises(KindsNotWatchedError, match="pods"),
        anyio.fail_after(3 * LOOK_FOR_KINDS_SECONDS),
    ):
        await watch.sweep.look_for_kinds()


async def test_a_kind_whose_watch_is_only_late_is_watched() -> None:
    watch = Watch()
    looking = asyncio.create_task(watch.sweep.look_for_kinds())
    await asyncio.sleep(1.5 * LOOK_FOR_KINDS_SECONDS)
    watch.list()

    await asyncio.sleep(10 * LOOK_FOR_KINDS_SECONDS)

    assert not looking.done()
    looking.cancel()


async def test_a_kind_with_nothing_but_objects_left_out_is_watched() -> None:
    watch = Watch()
    watch.event_handlers.broken |= {body["metadata"]["uid"] for body in watch.cluster.all(PODS)}
    looking = asyncio.create_task(watch.sweep.look_for_kinds())

    await asyncio.sleep(10 * LOOK_FOR_KINDS_SECONDS)

    assert not looking.done()
    looking.cancel()


async def test_the_first_lists_are_complete_without_workloads_that_may_not_be_read() -> None:
    watch = Watch()
    watch.list()
    refused = Fault(ApiError(403, "forbidden"))
    watch.api.scripts.append(
        lambda call: refused if call.arguments.get("resource") == PYTORCH_JOBS else None
    )

    await watch.sweep.wait_until_complete()

    assert PYTORCH_JOBS.name in watch.sweep.not_served
    assert [PYTORCH_JOBS.name] == watch.sweep.forbidden


async def test_an_answer_that_there_are_no_pods_at_all_is_not_believed() -> None:
    watch = Watch()
    watch.list()
    watch.api.fail("uids", *[Fault(ApiError(404, "not found"))] * len(watch.event_handlers.all))

    await watch.sweep.sweep_all()

    assert set(NAMES) == watch.pods()


async def test_kinds_without_a_crd_are_known_by_name_until_they_are_served() -> None:
    watch = Watch()
    pods, pod_groups = (watch.event_handlers.of(each) for each in (PODS, POD_GROUPS))

    watch.api.fail("uids", *[Fault(ApiError(404, "not found"))] * len(pod_groups.versions))
    await watch.sweep.sweep(pod_groups)
    await watch.sweep.sweep(pods)
    assert [pod_groups.name] == watch.sweep.not_served

    await watch.sweep.sweep(pod_groups)
    assert [] == watch.sweep.not_served


async def test_a_kind_that_was_forbidden_is_asked_for_also_once_it_is_watched() -> None:
    watch = Watch()
    watch.list()
    jobs = watch.event_handlers.of(PYTORCH_JOBS)
    watch.api.fail("uids", Fault(ApiError(403, "forbidden")))
    await watch.sweep.sweep(jobs)
    assert [PYTORCH_JOBS.name] == watch.sweep.forbidden

    jobs.handle(told_of_job("a"))
    looking = asyncio.create_task(watch.sweep.look_for_kinds())
    await asyncio.sleep(1.5 * LOOK_FOR_KINDS_SECONDS)

    assert [] == watch.sweep.forbidden
    looking.cancel()


def told_of_job(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": "9"}
    return {"type": None, "object": {"metadata": metadata, "spec": {}}}


async def test_workloads_that_may_not_be_read_for_a_moment_are_remembered() -> None:
    watch = Watch()
    jobs = watch.event_handlers.of(PYTORCH_JOBS)
    jobs.handle(told_of_job("a"))
    watch.api.fail("uids", *[Fault(ApiError(403, "forbidden"))] * 3)

    await watch.sweep.sweep(jobs)
    await asyncio.sleep(BRIEF_SECONDS / 2)
    await watch.sweep.sweep(jobs)
    assert {"a"} == set(jobs.uids())

    await asyncio.sleep(BRIEF_SECONDS)
    await watch.sweep.sweep(jobs)
    assert set() == set(jobs.uids())


async def test_workloads_that_may_be_read_again_are_listed_anew_and_come_back_as_they_were() -> (
    None
):
    watch = Watch()
    watch.list()
    jobs = watch.event_handlers.of(JOB_SETS)
    made = told_of_job("a")
    jobs.handle(made)
    watch.cluster.put(JOB_SETS, made["object"])
    watch.api.fail("uids", *[Fault(ApiError(403, "forbidden"))] * 2)
    await watch.sweep.sweep(jobs)
    await asyncio.sleep(BRIEF_SECONDS)
    await watch.sweep.sweep(jobs)
    # Its watch goes on, and tells of others.
    jobs.handle(told_of_job("b"))

    with (
        pytest.raises(KindsNotWatchedError, match="jobsets"),
        anyio.fail_after(3 * LOOK_FOR_KINDS_SECONDS),
    ):
        await watch.sweep.look_for_kinds()

    jobs.handle(made)
    assert {"a", "b"} == set(jobs.uids())


async def test_a_kind_that_was_forbidden_is_watched_although_some_of_it_is_always_on_its_way() -> (
    None
):
    watch = Watch()
    watch.list()
    sets = watch.event_handlers.of(JOB_SETS)
    sets.handle(told_of_job("a"))
    watch.api.fail("uids", Fault(ApiError(403, "forbidden")))
    await watch.sweep.sweep(sets)
    looking = asyncio.create_task(watch.sweep.look_for_kinds())

    for name in ("b", "c", "d", "e"):
        made = told_of_job(name)
        watch.cluster.put(JOB_SETS, made["object"])
        await asyncio.sleep(LOOK_FOR_KINDS_SECONDS)
        sets.handle(made)

    assert not looking.done()
    looking.cancel()
