"""Decides whether a write may be sent now, and how long it may take.

No write may take effect once another process can lead. The check is made when the write is sent,
since a process may be stopped for any time after its decision. A write that was sent in time can
still be delayed on its way. So each write tells the API server how long it may take; the server
drops writes that it has not begun to store by then.
"""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

SHARE: Final = 0.9
"""The part of the Lease's remaining time that a write may take.

The rest is for the time between this check and the moment of sending. Connections are made before
the check.
"""


class Leadership(Protocol):
    """Knows whether this process leads."""

    def is_leader(self) -> bool:
        """Return whether this process may write."""

    def seconds_left(self) -> float:
        """Return for how long no other process can lead, counted from now."""


def boot_time() -> float:
    """Return a time in seconds that never jumps, and advances while the machine is suspended."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Fence:
    """Guards all writes of a process: it allows a write only while no other process can lead.

    Without an election it allows all writes until it is closed. It is used from the one event loop
    that writes.
    """

    def __init__(self, leadership: Leadership | None = None) -> None:
        self._leadership = leadership
        self._is_closed = False
        self._under_way = 0
        self._none_under_way = asyncio.Event()
        self._none_under_way.set()
        self._open_until = -math.inf

    @property
    def is_needed(self) -> bool:
        """Whether another process can ever lead."""
        return self._leadership is not None

    def allows(self, seconds: float = 0.0) -> bool:
        """Return whether a write that takes at most this long may be sent now."""
        if self._leadership is None:
            return not self._is_closed
        leads = not self._is_closed and self._leadership.is_leader()
        return leads and seconds <= self._leadership.seconds_left()

    def within(self, seconds: float) -> float:
        """Return how many of these seconds a write may take; if 0 or less, it must not begin."""
        if self._leadership is None:
            return seconds
        return min(seconds, self._leadership.seconds_left() * SHARE)

    @contextmanager
    def write(self, seconds: float) -> Iterator["Write"]:
        """Enter the context of one write.

        If the write ends unanswered, it may still take effect until `seconds` after it was sent,
        and `quiet` waits for that.
        """
        write = Write(self, seconds)
        self._under_way += 1
        self._none_under_way.clear()
        try:
            yield write
        finally:
            if write.sent_at is not None and not write.is_answered:
                self._open_until = max(self._open_until, write.sent_at + seconds)
            self._under_way -= 1
            if not self._under_way:
                self._none_under_way.set()

    def close(self) -> None:
        """Let no more writes pass."""
        self._is_closed = True

    async def quiet(self) -> None:
        """Return once no write that was sent can take effect any more.

        Close the fence first.
        """
        await self._none_under_way.wait()
        await asyncio.sleep(max(0.0, self._open_until - _now()))


class Write:
    """A write in progress that takes `seconds` at most. `sent_at` is in the event loop's time."""

    def __init__(self, fence: Fence, seconds: float) -> None:
        self.sent_at: float | None = None
        self.is_answered = False
        self._fence = fence
        self._seconds = seconds

    def may_be_sent(self) -> bool:
        """Return whether the write may be sent; if so, it counts as sent from now on."""
        if not self._fence.allows(self._seconds):
            return False
        self.sent_at = _now()
        return True


def _now() -> float:
    return asyncio.get_running_loop().time()
