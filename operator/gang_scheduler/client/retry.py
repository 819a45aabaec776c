"""How long a request waits before it is made again."""

import asyncio
import math
from typing import Final

from gang_scheduler.client.errors import ApiError

FIRST_SECONDS: Final = 0.1
LAST_SECONDS: Final = 5.0


class Pauses:
    """The pauses between the tries of one request: each is twice as long as the one before."""

    def __init__(self) -> None:
        self._seconds = FIRST_SECONDS

    async def after(self, error: ApiError, most: float = math.inf) -> None:
        """Wait for the next try: as long as the server asks at least, and `most` at most."""
        await asyncio.sleep(min(max(self._seconds, error.retry_after), most))
        self._seconds = min(self._seconds * 2, LAST_SECONDS)
