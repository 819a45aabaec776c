"""An event loop beside the main one."""

import asyncio
import time

import pytest

from gang_scheduler.event_loops import SecondLoop


async def test_it_returns_what_is_done_beside() -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    async with SecondLoop() as second_loop:
        assert 7 == await second_loop.run(work)


async def test_it_raises_what_goes_wrong_beside() -> None:
    async def work() -> None:
        raise KeyError("planted")

    async with SecondLoop() as second_loop:
        with pytest.raises(KeyError, match="planted"):
            await second_loop.run(work)


async def test_it_goes_on_while_the_main_loop_is_held_up() -> None:
    turns = []

    async def work() -> None:
        for number in range(5):
            await asyncio.sleep(0.001)
            turns.append(number)

    async with SecondLoop() as second_loop:
        task = asyncio.create_task(second_loop.run(work))
        await asyncio.sleep(0)
        give_up_at = time.monotonic() + 60
        while len(turns) < 5 and time.monotonic() < give_up_at:
            pass  # As a long cycle does: no turn for others on this loop.
        assert [0, 1, 2, 3, 4] == turns
        await task


async def test_what_is_cancelled_ends_beside_first() -> None:
    said = []

    async def work() -> None:
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.01)
            said.append("released")

    async with SecondLoop() as second_loop:
        task = asyncio.create_task(second_loop.run(work))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert ["released"] == said
