"""Pauses before a request is repeated, and how long a denied request is repeated.

All callers that retry use these pauses. They have jitter: without it, requests that failed together
in an outage would be repeated together.
"""

import asyncio
import math
import random
from collections.abc import Callable, Hashable
from typing import Final

from gang_scheduler.client.errors import ApiError, Kind

FIRST_SECONDS: Final = 0.1
LAST_SECONDS: Final = 5.0
JITTER: Final = 0.25
"""The largest random part of a pause, relative to the pause, as in client-go."""

DENIED_SECONDS: Final = 30.0
"""A denial may be temporary for this long.

A new API server may not know all rights or tokens yet, or a webhook may be down.
"""
MOST_DENIED: Final = 10_000


class Backoff:
    """The pauses between the attempts of one request, in seconds.

    The pauses begin with `first`, double each time up to `last`, and get longer by a random part of
    up to `jitter`; `draw` returns random numbers from 0 to below 1.
    """

    def __init__(
        self,
        first: float = FIRST_SECONDS,
        last: float = LAST_SECONDS,
        jitter: float = JITTER,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._first = first
        self._last = last
        self._jitter = jitter
        self._draw = draw
        self._pause = first

    def seconds(self, asked_for: float = 0.0) -> float:
        """Return the next pause, at least as long as the server `asked_for`, and with jitter."""
        pause = self._pause
        self._pause = min(pause * 2, self._last)
        return max(pause, asked_for) + pause * self._jitter * self._draw()

    def reset(self) -> None:
        """Begin with the first pause again: an attempt succeeded."""
        self._pause = self._first

    async def after(self, error: ApiError, most: float = math.inf) -> None:
        """Wait before the next attempt: at least as the server asks, at most `most` seconds."""
        await asyncio.sleep(min(self.seconds(error.retry_after), most))


class Denials:
    """Remembers since when requests about each subject are denied: a denial may be temporary.

    A subject without a denial for DENIED_SECONDS starts over. `clock` is in seconds, by default the
    event loop's.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        # The first and the last denial.
        self._denied: dict[Hashable, tuple[float, float]] = {}

    def may_pass(self, error: ApiError, about: Hashable = None) -> bool:
        """Return whether an error is a denial that may be temporary, so worth another try."""
        if error.kind is not Kind.DENIED:
            return False
        now = (self._clock or asyncio.get_running_loop().time)()
        first, last = self._denied.pop(about, (now, now))
        if now - last > DENIED_SECONDS:
            first = now
        self._denied[about] = first, now
        while len(self._denied) > MOST_DENIED:
            del self._denied[next(iter(self._denied))]
        return now - first < DENIED_SECONDS
