"""A token bucket, as the rate limiter of client-go: so many a second, and a burst."""

import asyncio


class TokenBucket:
    """Holds up to `burst` tokens, which come back at `per_second`. Full at the start."""

    def __init__(self, per_second: float, burst: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._tokens = burst
        self._at = 0.0

    async def take(self) -> None:
        """Take a token, and wait for it if there is none. For one task at a time."""
        now = asyncio.get_running_loop().time()
        earned = (now - self._at) * self._per_second
        self._tokens, self._at = min(self._burst, self._tokens + earned) - 1, now
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._per_second)
