"""Splits an answer that comes in chunks into lines."""

from collections.abc import AsyncIterator


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield the lines that each chunk completes.

    Half a line at the end is dropped: the connection broke, and the next watch repeats that event.
    """
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield whole
