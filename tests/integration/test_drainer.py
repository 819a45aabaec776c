"""Queues that are drained: what runs in them is evicted, and tried again until it is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.apply.drainer import Drainer
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.cluster import EVENTS
from gang_scheduler.client.fake.faults import Fault
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.queues import StopPolicy
from support.queue_clusters import KIND, OURS, flavored
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

SIZE = 3


def workloads() -> FakeWorkloads:
    """Return two gangs that run, one of them in the queue that is drained."""
    made = FakeWorkloads("n1", "n2")
    for name, node, queue in (("goes", "n1", "a"), ("stays", "n2", "b")):
        made.gang(name, SIZE, priority=0, node=node)
        for number in range(SIZE):
            with made.cluster.changing(PODS, "default", f"{name}-{number}") as found:
                found["metadata"]["labels"][OURS] = queue
    return made


@asynccontextmanager
async def draining(made: FakeWorkloads) -> AsyncIterator[SchedulerProcess]:
    """Run a scheduler that drains queue a."""
    async with SchedulerProcess(made) as process:
        for queue in (
            flavored("a", "default", stop=StopPolicy.HOLD_AND_DRAIN),
            flavored("b", "default"),
        ):
            process.cache.queues.upsert(DeclaredQueue(queue, KIND))
        process.cache.gang_queue.queues_changed()
        drainer = asyncio.create_task(Drainer(process.cache, process.evictor).run())
        yield process
        drainer.cancel()
        await asyncio.gather(drainer, return_exceptions=True)


async def test_a_gang_is_marked_and_then_evicted_as_a_whole() -> None:
    made = workloads()
    async with draining(made) as process:
        await process.until(lambda: not made.nodes("goes"))

        methods = [method for method, _ in process.writes()]
        assert ["patch_pod_condition"] * SIZE + ["delete_pod"] * SIZE == methods
    assert ["n2"] * SIZE == made.nodes("stays")


async def test_the_mark_and_the_event_say_why() -> None:
    made = workloads()
    async with draining(made) as process:
        events = asyncio.create_task(process.events.run())
        await process.until(lambda: any("Drained" == e["reason"] for e in made.cluster.all(EVENTS)))
        events.cancel()
        calls = process.api.calls
        (message, *_) = {
            call.arguments["condition"]["message"]
            for call in calls
            if call.method == "patch_pod_condition"
        }

    (note,) = (e["note"] for e in made.cluster.all(EVENTS) if e["reason"] == "Drained")
    assert "py-gang-scheduler: draining queue a" == message
    assert note.startswith("Evicted: queue a is drained: 3 members: goes-0")


async def test_what_could_not_be_evicted_is_tried_again() -> None:
    made = workloads()
    async with draining(made) as process:
        process.api.fail("patch_pod_condition", Fault(ApiError(403, "forbidden")))
        await process.until(lambda: not made.nodes("goes"))

    assert ["n2"] * SIZE == made.nodes("stays")


@pytest.mark.parametrize("number", range(2 * SIZE))
@pytest.mark.parametrize("after", [False, True])
async def test_after_a_kill_the_next_life_goes_on(number: int, *, after: bool) -> None:
    made = workloads()
    async with draining(made) as first:
        first.hang_from(number, after=after)
        await first.until(lambda: len(first.writes()) > number)
    async with draining(made) as second:
        await second.until(lambda: not made.nodes("goes"))

    assert ["n2"] * SIZE == made.nodes("stays")
    assert [] == made.marked()


async def test_a_replica_that_does_not_lead_drains_nothing() -> None:
    made = workloads()
    async with SchedulerProcess(made) as process:
        queue = flavored("a", "default", stop=StopPolicy.HOLD_AND_DRAIN)
        process.cache.queues.upsert(DeclaredQueue(queue, KIND))
        drainer = Drainer(process.cache, process.evictor, may_write=lambda: False)
        looking = asyncio.create_task(drainer.run())
        await asyncio.sleep(60)
        looking.cancel()

        assert [] == process.writes()
