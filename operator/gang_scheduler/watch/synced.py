"""Whether the known objects are in step with the API server, and what tasks wait for."""

import asyncio
from typing import Final

STALE_SECONDS: Final = 5.0
"""Nothing is decided on a view that has been out of step for longer."""


class InStep:
    """Set while no event is known to be missed. Not set at first."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._left_at = float("-inf")

    def is_set(self) -> bool:
        """Return whether no event is missed."""
        return self._event.is_set()

    def set(self) -> None:
        """Note that no event is missed from now on."""
        self._event.set()

    def clear(self) -> None:
        """Note that events may be missed from now on."""
        if self._event.is_set():
            self._event.clear()
            self._left_at = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        """Return when no event is missed."""
        await self._event.wait()

    async def fresh(self) -> None:
        """Return at once unless events may have been missed for long; else when that is over."""
        if asyncio.get_running_loop().time() - self._left_at > STALE_SECONDS:
            await self.wait()


class ChangeCount:
    """How often something has changed. Tasks that wait for the next change miss none of them."""

    def __init__(self) -> None:
        self.number = 0
        self._next = asyncio.Event()

    def changed(self) -> None:
        """Count a change, and wake what waits for it."""
        self.number += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, number: int) -> None:
        """Return when there were more changes than that."""
        while self.number <= number:
            await self._next.wait()
