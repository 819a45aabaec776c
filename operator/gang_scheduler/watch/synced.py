"""Whether what is known goes along with the API server, and since when not."""

import asyncio
from typing import Final

STALE_SECONDS: Final = 5.0
"""Nothing is decided on a view that has been out of step for longer."""


class InStep:
    """Set for as long as nothing is missed, as far as anybody knows here. Not set at first."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._left_at = float("-inf")

    def is_set(self) -> bool:
        """Tell whether nothing is missed."""
        return self._event.is_set()

    def set(self) -> None:
        """Note that nothing is missed from now on."""
        self._event.set()

    def clear(self) -> None:
        """Note that something may be missed from now on."""
        if self._event.is_set():
            self._event.clear()
            self._left_at = asyncio.get_running_loop().time()

    async def wait(self) -> None:
        """Return when nothing is missed."""
        await self._event.wait()

    async def fresh(self) -> None:
        """Return at once unless something may have been missed for long; else when that is over."""
        if asyncio.get_running_loop().time() - self._left_at > STALE_SECONDS:
            await self.wait()
