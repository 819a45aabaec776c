"""A token bucket lets a burst through at once, and then so many a second."""

import asyncio

import pytest

from gang_scheduler.report.events import TokenBucket

pytestmark = pytest.mark.looptime


async def moments(bucket: TokenBucket, number: int) -> list[float]:
    """Take tokens one after the other; return when each came, in seconds from now."""
    clock = asyncio.get_running_loop().time
    began, found = clock(), []
    for _ in range(number):
        await bucket.take()
        found.append(round(clock() - began, 3))
    return found


async def test_a_burst_comes_at_once_and_the_rest_at_the_rate() -> None:
    assert [0, 0, 0.5, 1, 1.5] == await moments(TokenBucket(2, burst=2), 5)


async def test_tokens_come_back_while_none_is_taken_and_never_more_than_the_burst() -> None:
    bucket = TokenBucket(2, burst=2)
    await moments(bucket, 4)

    await asyncio.sleep(100)

    assert [0, 0, 0.5] == await moments(bucket, 3)
