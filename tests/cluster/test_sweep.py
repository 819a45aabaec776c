"""A sweep finds what no watch has told; the first lists are no reason for one."""

import asyncio
from collections.abc import Callable

import pytest

import builders
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.fake import FakeApi, FakeCluster
from gang_scheduler.cluster.intake import Intake
from gang_scheduler.cluster.ports import PODS
from gang_scheduler.cluster.watching.sweep import AFTER_LIST_SECONDS, Sweep

pytestmark = pytest.mark.looptime

NAMES = ("a", "b")


class Watch:
    """Two pods on a fake API server, and what a watch of them tells a cache."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.api = FakeApi(self.cluster)
        self.cache = Cache([builders.SCHEDULER])
        self.intake = Intake(self.cache)
        self.sweep = Sweep(self.api, self.cache, self.intake.broken, interval_seconds=3600)
        self.intake.on_listed = self.sweep.listed
        for name in NAMES:
            self.cluster.put(PODS, builders.pod_body(name))

    def list(self) -> None:
        """List all pods that there are."""
        for body in self.cluster.all(PODS):
            self.intake.pod({"type": None, "object": body})

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


async def test_who_was_deleted_before_a_second_list_during_the_start_is_swept() -> None:
    watch = Watch()
    await watch.start(
        watch.list,
        lambda: watch.cluster.delete(PODS, "default", "a"),
        watch.list,
    )

    await watch.run()

    assert {"b"} == watch.pods()
