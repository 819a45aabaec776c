"""Nothing is decided for long on a view that may miss something."""

import asyncio

import pytest

from gang_scheduler.watch.synced import STALE_SECONDS, UpToDate
from support.scheduler_process import FakeWorkloads, SchedulerProcess

pytestmark = pytest.mark.looptime


async def since_start(step: UpToDate) -> float:
    """Return how long it takes until the view is fresh."""
    clock = asyncio.get_running_loop().time
    began = clock()
    await step.fresh()
    return clock() - began


async def test_a_view_in_step_is_fresh_at_once() -> None:
    step = UpToDate()
    step.set()

    assert 0 == await since_start(step)


async def test_a_view_that_was_never_complete_is_waited_for() -> None:
    step = UpToDate()
    asyncio.get_running_loop().call_later(30, step.set)

    assert 30 == await since_start(step)


async def test_a_short_interruption_holds_nothing_up() -> None:
    step = UpToDate()
    step.set()
    step.clear()
    await asyncio.sleep(STALE_SECONDS - 1)

    assert 0 == await since_start(step)


async def test_a_long_one_is_waited_out() -> None:
    step = UpToDate()
    step.set()
    step.clear()
    step.clear()
    asyncio.get_running_loop().call_later(STALE_SECONDS + 30, step.set)
    await asyncio.sleep(STALE_SECONDS + 10)

    assert 20 == await since_start(step)


async def test_no_gang_is_bound_while_the_view_is_old() -> None:
    workloads = FakeWorkloads("n1")
    step = UpToDate()
    async with SchedulerProcess(workloads, fresh=step.fresh) as process:
        workloads.gang("a", 2, priority=1)
        await asyncio.sleep(60)
        assert ["", ""] == workloads.nodes("a")

        step.set()

        await process.until(lambda: workloads.nodes("a") == ["n1", "n1"])
