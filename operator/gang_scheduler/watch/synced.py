"""Sync state of the watches: in step with the API server, number of changes, and silent watches."""

import asyncio
import functools
import time
from typing import Final, Protocol

from gang_scheduler.telemetry import metrics

# The protocol of sources, which feed a sink.


class Source(Protocol):
    """Feeds a sink with the objects of all watched kinds while it runs."""

    @property
    def not_served(self) -> list[str]:
        """The names of the kinds that the API server did not serve at the last check."""

    @property
    def forbidden(self) -> list[str]:
        """The names of the kinds that the scheduler might not read at the last attempt."""

    async def run(self) -> None:
        """Run until cancelled, with a new watch whenever one ends."""

    async def complete(self) -> None:
        """Return when every object of the first lists is in the sink."""

    async def catch_up(self) -> None:
        """Return once the sink has every change from before this call.

        Watches are not trusted, since they may have stalled or been interrupted.
        """

    def begin_anew(self, kind: str) -> None:
        """Restart the watch of a kind with a list, even if it is in the middle of one.

        Does not wait. Watches of other kinds may restart with it.
        """

    async def fresh(self) -> None:
        """Wait while watches of pods or nodes have been out of step for long; else return.

        A watch that stalls without a sign counts as out of step after some seconds.
        """


STALE_SECONDS: Final = 5.0
"""A view may be out of step for this long while decisions are still made on it."""


class UpToDate:
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
        """Return immediately unless events may have been missed for long; else wait for the end."""
        if asyncio.get_running_loop().time() - self._left_at > STALE_SECONDS:
            await self.wait()


class ChangeCount:
    """Counts changes. Tasks that wait for the next change miss none."""

    def __init__(self) -> None:
        self.number = 0
        self._next = asyncio.Event()

    def changed(self) -> None:
        """Count a change, and wake all tasks that wait for it."""
        self.number += 1
        self._next.set()
        self._next = asyncio.Event()

    async def after(self, number: int) -> None:
        """Return once there have been more than `number` changes."""
        while self.number <= number:
            await self._next.wait()


# The time since each watch last showed a sign of life, computed when it is read. A sign of life is
# an event, or a restarted watch that was answered: the watch of a kind that never changes is
# restarted every few seconds. A list is no sign, but while its pages arrive, the watch is on its
# way.

_seen: Final[dict[str, float]] = {}
_listed: Final[dict[str, float]] = {}


def seen(kind: str) -> None:
    """Note a sign of life of the watch of a kind."""
    is_new = kind not in _seen
    _seen[kind] = time.monotonic()
    if is_new:
        metrics.WATCH_AGE.labels(kind).set_function(functools.partial(_age, kind))


def listed(kind: str) -> None:
    """Note that a page of a list has come. A watch has an age from its first page on."""
    _listed[kind] = time.monotonic()
    if kind not in _seen:
        seen(kind)


def not_served(kind: str) -> None:
    """Note that a kind has nothing to watch."""
    _listed.pop(kind, None)
    if _seen.pop(kind, None) is not None:
        metrics.WATCH_AGE.remove((kind,))


def ages() -> dict[str, float]:
    """Return the seconds since the last sign of life of each watch. Any thread may call it."""
    now = time.monotonic()
    return {kind: now - at for kind, at in _seen.copy().items()}


def idle() -> dict[str, float]:
    """Return the seconds since the last sign of life or the last page of a list, for each watch."""
    now = time.monotonic()
    return {kind: min(age, now - _listed.get(kind, 0.0)) for kind, age in ages().items()}


def _age(kind: str) -> float:
    now = time.monotonic()
    return now - _seen.get(kind, now)
