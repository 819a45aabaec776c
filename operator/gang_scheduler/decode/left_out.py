"""Objects that were left out because they cannot be read, as values in one queue.

The event handlers put them there, and know nothing of what is made of them.
"""

import asyncio
from collections.abc import Iterator
from typing import NamedTuple

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.reader import Object


class LeftOut(NamedTuple):
    """An object that was left out, its kind as in manifests, and what is wrong with it.

    `holds` is the noun of what still counts of it; None: nothing, or what was known of it.
    """

    kind: str
    obj: Object
    why: InvalidField
    holds: object = None


class LeftOutObjects:
    """A queue, oldest first. It has no limit: no event waits for its reader."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[LeftOut] = asyncio.Queue()

    def put(self, left_out: LeftOut) -> None:
        """Add an object."""
        self._queue.put_nowait(left_out)

    async def next(self) -> LeftOut:
        """Wait for an object and return it."""
        return await self._queue.get()

    def take_all(self) -> Iterator[LeftOut]:
        """Yield the objects that are there already."""
        while not self._queue.empty():
            yield self._queue.get_nowait()
