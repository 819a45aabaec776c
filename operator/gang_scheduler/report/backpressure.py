"""Bindings go first: statuses and Events wait while bindings queue, though never for long.

A status costs the API server more than two bindings, and while a gang is being bound, every binding
makes its status stale.
"""

import asyncio
from collections.abc import Callable

LONGEST_SECONDS = 5.0
LOOK_SECONDS = 0.1


class Backpressure:
    """Waits while `busy()` says that bindings are waiting for a connection."""

    def __init__(self, busy: Callable[[], bool] = lambda: False) -> None:
        self._busy = busy

    async def wait(self, since: float) -> None:
        """Return when no bindings wait, or LONGEST_SECONDS after `since` (event loop's time)."""
        clock = asyncio.get_running_loop().time
        # Polled: nothing else needs a notification that bindings wait no longer.
        while self._busy() and clock() - since < LONGEST_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
