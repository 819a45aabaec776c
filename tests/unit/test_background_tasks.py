"""How parts of the operator run, and that none of them ends in silence."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest

from gang_scheduler.background_tasks import EndedError, Workers, every, never_ending
from gang_scheduler.event_loops import SecondLoop


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
    async with SecondLoop() as second_loop:
        with pytest.raises(EndedError, match="elector was cancelled"):
            await never_ending("elector", lambda: second_loop.run(be_cancelled))


async def test_an_error_of_the_work_is_raised_as_it_is() -> None:
    with pytest.raises(ValueError, match="why"):
        await never_ending("binder", fail)


@pytest.mark.parametrize("work", [wait, anyio.sleep_forever])
async def test_work_that_is_cancelled_ends(
    work: Callable[[], Awaitable[None]],
) -> None:
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(never_ending, "binder", work)
            await asyncio.sleep(0)
            group.cancel_scope.cancel()


class Looks:
    """A look that notes when it was made; the second one fails."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def look(self) -> None:
        """Look, and fail if it is the second time."""
        self.at.append(asyncio.get_running_loop().time())
        if len(self.at) == 2:
            raise ValueError("why")

    async def look_later(self) -> None:
        """Look in the next turn of the loop."""
        await asyncio.sleep(0)
        self.look()


@pytest.mark.looptime
@pytest.mark.parametrize("at_once", [False, True])
async def test_looks_are_made_at_an_interval_whatever_becomes_of_one(*, at_once: bool) -> None:
    looks = Looks()

    for each in (looks.look, looks.look_later):
        looks.at.clear()
        began = asyncio.get_running_loop().time()
        with anyio.move_on_after(35):
            await every(10, each, "look", "things", at_once=at_once)
        assert ([0] if at_once else []) + [10, 20, 30] == [at - began for at in looks.at]


@pytest.mark.looptime
async def test_a_look_is_left_out_while_it_must_not_be_made() -> None:
    looks, clock = Looks(), asyncio.get_running_loop().time

    with anyio.move_on_after(35):
        await every(10, looks.look, "look", "things", when=lambda: clock() > 15)

    assert [20, 30] == looks.at


class Doubling(Workers[int]):
    """Workers that take a second for each number, and fail on 0."""

    def __init__(self) -> None:
        super().__init__("doubling", "double", 2)
        self.done: list[tuple[int, float]] = []

    def namespace_of(self, _: int) -> str:
        """Return that of all numbers."""
        return ""

    async def work(self, item: int) -> None:
        """Note twice the number."""
        await asyncio.sleep(1)
        if item == 0:
            raise ValueError("why")
        self.done.append((2 * item, asyncio.get_running_loop().time()))


@pytest.mark.looptime
async def test_workers_take_one_item_each_and_go_on_after_an_error() -> None:
    workers = Doubling()
    for item in (1, 0, 2, 3, 4):
        workers.submit(item)

    async with anyio.create_task_group() as group:
        group.start_soon(workers.run)
        await workers.drain()
        group.cancel_scope.cancel()

    assert [(2, 1), (4, 2), (6, 2), (8, 3)] == workers.done
