"""Bindings go first: what is only told to people waits for a lull, though never for long.

A status costs the API server more than two bindings, and until a gang is bound the next one makes
it untrue.
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
        """Return in a lull, or LONGEST_SECONDS after `since`, in the event loop's time."""
        clock = asyncio.get_running_loop().time
        # Polled: nobody else needs to know when bindings wait no longer.
        while self._busy() and clock() - since < LONGEST_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(LOOK_SECONDS)
