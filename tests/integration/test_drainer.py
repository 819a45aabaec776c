"""Queues that are drained: what runs in them is evicted, and tried again until it is gone."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gang_scheduler.api.kinds import EVENTS, PODS
from gang_scheduler.apply.gang_evictions import Drainer
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Fault
from gang_scheduler.client.writing import Writes
from gang_scheduler.decode.queues.declared import DeclaredQueue
from gang_scheduler.model.api_words import StopPolicy
from gang_scheduler.model.queues import Queue
from integration.support.saving_gangs import ANNOTATES, BY_ANNOTATION, TIMEOUT, requests
from support.queue_clusters import KIND, OURS, flavored
from support.scheduler_process import NOTHING, FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime

SIZE = 3


def workloads(says: Mapping[str, str] = NOTHING) -> FakeWorkloads:
    """Return two gangs that run, one of them in the queue that is drained."""
    made = FakeWorkloads("n1", "n2")
    for name, node, queue in (("goes", "n1", "a"), ("stays", "n2", "b")):
        made.gang(name, SIZE, priority=0, node=node, says=says)
        for number in range(SIZE):
            with made.cluster.changing(PODS, "default", f"{name}-{number}") as found:
                found["metadata"]["labels"][OURS] = queue
    return made


@asynccontextmanager
async def draining(made: FakeWorkloads, **how: Any) -> AsyncIterator[SchedulerProcess]:
    """Run a scheduler that drains queue a."""
    async with SchedulerProcess(made, **how) as process:
        declare(process, flavored("a", "default", stop=StopPolicy.HOLD_AND_DRAIN))
        declare(process, flavored("b", "default"))
        drainer = asyncio.create_task(
            Drainer(process.cache, process.evictor, writes=Writes()).run()
        )
        yield process
        drainer.cancel()
        await asyncio.gather(drainer, return_exceptions=True)


def declare(process: SchedulerProcess, queue: Queue) -> None:
    """Let a queue be as it is declared now."""
    process.cache.queues.upsert(DeclaredQueue(queue, KIND))
    process.cache.gang_queue.queues_changed()
    process.changes.cycle.set()


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
        drainer = Drainer(process.cache, process.evictor, writes=Writes(lambda: False))
        looking = asyncio.create_task(drainer.run())
        await asyncio.sleep(60)
        looking.cancel()

        assert [] == process.writes()


async def test_gangs_of_a_queue_that_is_drained_no_longer_are_asked_no_longer_and_stay() -> None:
    made = workloads(BY_ANNOTATION)
    async with draining(made, modes=ANNOTATES) as process:
        await process.until(lambda: len(requests(made)) == SIZE)
        declare(process, flavored("a", "default"))
        await process.until(lambda: not requests(made))
        await asyncio.sleep(2 * TIMEOUT)

        assert {"annotate_pod"} == {method for method, _ in process.writes()}
    assert ["n1"] * SIZE == made.nodes("goes")


async def test_a_gang_of_which_pods_were_evicted_goes_whole_though_the_drain_is_revoked() -> None:
    made = workloads()
    async with draining(made) as process:
        process.api.fail("delete_pod", *[Fault(ApiError(503, "later"))] * SIZE)
        await process.until(lambda: "delete_pod" in [method for method, _ in process.writes()])
        declare(process, flavored("a", "default"))
        await process.until(lambda: not made.nodes("goes"))

    assert [] == made.marked()


async def test_a_next_life_asks_by_the_same_request_as_long_as_the_queue_is_drained() -> None:
    made = workloads(BY_ANNOTATION)
    async with draining(made, modes=ANNOTATES) as first:
        await first.until(lambda: len(requests(made)) == SIZE)
    asked = requests(made)
    made.pod("late", priority=0)
    async with draining(made, modes=ANNOTATES) as second:
        await second.until(lambda: all(made.nodes("late")))
        await asyncio.sleep(TIMEOUT / 2)
        assert asked == requests(made)
        await second.until(lambda: not made.nodes("goes"))

        assert "annotate_pod" not in [method for method, _ in second.writes()]


async def test_a_next_life_withdraws_what_was_asked_in_a_queue_that_is_drained_no_longer() -> None:
    made = workloads(BY_ANNOTATION)
    async with draining(made, modes=ANNOTATES) as first:
        await first.until(lambda: len(requests(made)) == SIZE)
    made.pod("late", priority=0)
    async with SchedulerProcess(made, modes=ANNOTATES) as second:
        await second.until(lambda: not requests(made))

    assert ["n1"] * SIZE == made.nodes("goes")
