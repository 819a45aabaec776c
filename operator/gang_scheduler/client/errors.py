"""Errors of the API server, sorted by how the caller can react, and backoff before a retry."""

import asyncio
import enum
import math
import random
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

import msgspec


class Kind(enum.Enum):
    """The meaning of an answer for the caller."""

    GONE = "gone"
    """A 404: the object does not exist, or no longer."""
    CONFLICT = "conflict"
    """409: another writer was faster, or a precondition does not hold."""
    THROTTLED = "throttled"
    """429: the same request may succeed later."""
    PROTECTED = "protected"
    """429 of an eviction: a PodDisruptionBudget forbids it for now."""
    DENIED = "denied"
    """401 and 403: not allowed. This may pass, for example while an API server is starting."""
    REFUSED = "refused"
    """Any other 4xx: the same request would fail again."""
    UNKNOWN = "unknown"
    """5xx, a timeout or a broken connection: the write may have happened or not."""


UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of the decoder: no JSON, no UTF-8, a number out of range, or too deep nesting."""

BY_STATUS: Final = {
    401: Kind.DENIED,
    403: Kind.DENIED,
    404: Kind.GONE,
    409: Kind.CONFLICT,
    429: Kind.THROTTLED,
}
TERMINATING: Final = "NamespaceTerminating"
"""The cause of a 403 that no right would change: the namespace is being deleted."""

BUDGET = "DisruptionBudget"
"""The cause in an answer if a PodDisruptionBudget forbids an eviction."""


class ApiError(Exception):
    """An answer other than a success. `retry_after` is in seconds, `cause` the server's reason."""

    def __init__(
        self, status: int, message: str, retry_after: float = 0.0, cause: str = ""
    ) -> None:
        super().__init__(f"{status or 'no answer'}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.cause = cause

    @property
    def details(self) -> tuple[int, str, float, str]:
        """The arguments with which an equal error can be made."""
        return self.status, self.message, self.retry_after, self.cause

    @property
    def kind(self) -> Kind:
        """The kind of error, which decides what the caller can do."""
        if self.status == 0 or self.status >= 500:
            return Kind.UNKNOWN
        if self.status == 429 and self.cause == BUDGET:
            return Kind.PROTECTED
        if self.cause == TERMINATING:
            return Kind.REFUSED
        return BY_STATUS.get(self.status, Kind.REFUSED)


def of_answer(status: int, reason: str, content: bytes, retry_after: str) -> ApiError:
    """Return the error for an answer; its body is a Status if the API server itself wrote it."""
    cause = ""
    try:
        told: Any = msgspec.json.decode(content)
        message = str(told["message"])
        cause = _cause(told)
    except (*UNREADABLE, AttributeError, KeyError, TypeError):
        message = content[:200].decode(errors="replace") or reason
    try:
        seconds = float(retry_after or 0)
    except ValueError:
        seconds = 0.0
    return ApiError(status, message, seconds, cause)


def _cause(status: Mapping[str, Any]) -> str:
    """Return the reason of the first cause that the server names; "" without a cause."""
    causes = (status.get("details") or {}).get("causes") or [{}]
    return str(causes[0].get("reason") or "")


# Pauses before a request is repeated, and how long it is repeated, for all callers that retry. The
# pauses have jitter: without it, requests that failed together in an outage would be repeated
# together.

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
    """Remembers since when requests about each subject are denied: a first denial may pass.

    A subject without a denial for DENIED_SECONDS starts over. `clock` is in seconds, by default the
    event loop's.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        # The first and the last denial.
        self._denied: dict[Hashable, tuple[float, float]] = {}

    def may_pass(self, error: ApiError, about: Hashable = None) -> bool:
        """Return whether an error is a denial that may pass: the request is worth another try."""
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
