"""A part of the operator that ends, in whatever way, does not end in silence."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

from gang_scheduler.never_ending import EndedError, never_ending
from gang_scheduler.second_loop import Beside


async def wait() -> None:
    await asyncio.sleep(3600)


async def lose_a_worker() -> None:
    """Have a task group of one's own, in which one task is cancelled that nothing looks at."""
    async with anyio.create_task_group() as group:
        group.start_soon(be_cancelled)
        await wait()


async def be_cancelled() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await wait()


async def end() -> None:
    pass


async def fail() -> None:
    raise ValueError("why")


async def test_work_that_returns_is_an_error() -> None:
    with pytest.raises(EndedError, match="binder has ended by itself"):
        await never_ending("binder", end)


async def test_work_that_has_lost_one_of_its_tasks_is_an_error() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with anyio.create_task_group() as group:
            group.start_soon(never_ending, "binder", lose_a_worker)

    assert ["binder has ended by itself"] == [str(each) for each in raised.value.exceptions]


async def test_work_that_is_cancelled_by_something_else_is_an_error() -> None:
    task = asyncio.create_task(never_ending("binder", be_cancelled))

    with pytest.raises(EndedError, match="binder was cancelled, and nothing has asked for that"):
        await task


async def test_work_beside_that_is_cancelled_there_is_an_error() -> None:
    async with Beside() as beside:
        with pytest.raises(EndedError, match="elector was cancelled"):
            await never_ending("elector", lambda: beside.run(be_cancelled))


async def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="why"):
        await never_ending("binder", fail)


@pytest.mark.parametrize("work", [wait, anyio.sleep_forever])
async def test_work_that_is_told_to_end_does(
    work: Callable[[], Awaitable[None]],
) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(never_ending, "binder", work)
            await asyncio.sleep(0)
            group.cancel_scope.cancel()
