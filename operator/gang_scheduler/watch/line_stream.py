"""From the chunks in which an answer comes to the lines that it is made of."""

from collections.abc import AsyncIterator


async def lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[list[bytes]]:
    """Yield the whole lines that each chunk completes.

    Half a line at the end is dropped: the connection broke, and the next one begins with it.
    """
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        if whole:
            yield whole
