"""The scheduling loop, in addition to the tests of the parts that it calls."""

import asyncio
from collections.abc import Iterator
from unittest.mock import patch

import pytest

from gang_scheduler import scheduling_loop
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.scheduler import effort
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("steps", range(4))
async def test_it_ends_when_it_is_cancelled_in_the_moment_of_a_change(steps: int) -> None:
    made = FakeWorkloads("n1")
    made.gang("too-large", 5, priority=0)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: process.cache.gang_queue.next_retry() is not None)
        await asyncio.sleep(1.5)

        process.changes.cycle.set()
        for _ in range(steps):
            await asyncio.sleep(0)
        process.stop_deciding()
        await asyncio.sleep(0.01)

        assert process.has_stopped_deciding


async def test_what_comes_of_the_last_cycle_is_still_taken_in() -> None:
    made = FakeWorkloads("n1")
    made.gang("a", 2, priority=0)
    async with SchedulerProcess(made) as process:

        def slow(call: Call) -> Fault | None:
            if call.method != "bind":
                return None
            process.stop_deciding()
            return Fault(delay_seconds=1)

        process.api.scripts.append(slow)
        await process.until(lambda: all(made.nodes("a")))
        await asyncio.sleep(0)

        assert process.has_stopped_deciding
        assert "Scheduled" == process.events.take().body()["reason"]


async def test_what_a_cycle_has_left_is_tried_in_the_next_though_nothing_has_changed() -> None:
    made = FakeWorkloads("n1")
    names = [f"g{number}" for number in range(4)]
    for name in names:
        made.gang(name, 1, priority=0)
    with patch.object(effort, "MOST_OF_CYCLE", 1):
        async with SchedulerProcess(made) as process:
            await process.until(lambda: all(all(made.nodes(name)) for name in names))

            assert process.cache.gang_queue.next_retry() is None


async def test_others_work_while_a_snapshot_is_prepared_in_parts() -> None:
    made = FakeWorkloads("n1")
    others: list[int] = []
    in_between: list[int] = []

    def prepare(_now: int) -> Iterator[None]:
        for number in range(3):
            asyncio.get_running_loop().call_soon(others.append, number)
            yield
            in_between.append(len(others))

    with patch.object(scheduling_loop, "PART_SECONDS", -1):
        async with SchedulerProcess(made) as process:
            with patch.object(process.cache, "prepare", prepare):
                made.gang("a", 1, priority=0)
                await process.until(lambda: all(made.nodes("a")))

    assert [1, 2, 3] == in_between[:3]
