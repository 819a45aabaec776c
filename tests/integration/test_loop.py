"""The loop itself, beside all that it drives."""

import asyncio

import pytest

from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("steps", range(4))
async def test_it_ends_when_it_is_told_to_in_the_moment_of_a_change(steps: int) -> None:
    made = FakeWorkloads("n1")
    made.gang("too-large", 5, priority=0)
    async with SchedulerProcess(made) as process:
        await process.until(lambda: process.cache.gangs.next_retry() is not None)
        await asyncio.sleep(1.5)

        process.wake()
        for _ in range(steps):
            await asyncio.sleep(0)
        process.stop_deciding()
        await asyncio.sleep(0.01)

        assert process.has_stopped_deciding
