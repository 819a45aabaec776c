"""The loop itself, beside all that it drives."""

import asyncio

import pytest

from cluster.lives import Life, Town

pytestmark = pytest.mark.looptime


@pytest.mark.parametrize("steps", range(4))
async def test_it_ends_when_it_is_told_to_in_the_moment_of_a_change(steps: int) -> None:
    made = Town("n1")
    made.gang("too-large", 5, priority=0)
    async with Life(made) as life:
        await life.until(lambda: life.cache.gangs.next_retry() is not None)
        await asyncio.sleep(1.5)

        life.wake()
        for _ in range(steps):
            await asyncio.sleep(0)
        life.stop_deciding()
        await asyncio.sleep(0.01)

        assert life.has_stopped_deciding
