"""Takes in changes of objects, and delays expensive objects so that others get a turn.

Reading a suspended workload of ten thousand pods takes tens of milliseconds or more, and users can
change an object as often as they like. So the CPU time of each change is measured. Once an object
was expensive twice, its next change is read only after ten times as long; changes in between are
skipped. Other expensive objects of its namespace wait as well, one after another. New objects,
deletions and lists are never delayed, and nothing is delayed without an event loop.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final

DEAR_SECONDS: Final = 0.005
"""A change that takes more CPU than this is expensive."""
TIMES: Final = 2
"""An object is delayed after this many expensive changes in a row: one may be chance."""
PAUSES: Final = 10
"""The pause for expensive objects of a namespace, as a multiple of the time of the last change."""
LONGEST_SECONDS: Final = 10.0
"""The longest wait, in seconds."""
MOST_NAMESPACES: Final = 1000
"""At least this many pauses are kept: finding expired ones takes a step for each."""

Take = Callable[[], None]


class Pacing:
    """The expensive objects by uid, and when the next change of one in a namespace is taken in."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        cpu_clock: Callable[[], float] = time.thread_time,
    ) -> None:
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._dear: dict[str, int] = {}
        self._held: dict[str, Take] = {}
        self._free_at: dict[str, float] = {}

    def take(self, uid: str, namespace: str, take: Take, *, may_wait: bool) -> None:
        """Take in a change of an object, now or later.

        It replaces an earlier one that still waits.
        """
        if may_wait and self._dear.get(uid, 0) >= TIMES and self._wait(namespace) > 0:
            loop = _running_loop()
            if loop is not None:
                if uid not in self._held:
                    loop.call_later(self._wait(namespace), self._later, loop, uid, namespace)
                self._held[uid] = take
                return
        self._held.pop(uid, None)
        self._now(uid, namespace, take)

    def forget(self, uid: str) -> None:
        """Forget a deleted object, and its change that still waits."""
        self._held.pop(uid, None)
        self._dear.pop(uid, None)

    def _later(self, loop: asyncio.AbstractEventLoop, uid: str, namespace: str) -> None:
        take = self._held.get(uid)
        if take is None:
            return
        wait = self._wait(namespace)
        if wait > 0:
            loop.call_later(wait, self._later, loop, uid, namespace)
            return
        del self._held[uid]
        self._now(uid, namespace, take)

    def _wait(self, namespace: str) -> float:
        return self._free_at.get(namespace, 0.0) - self._clock()

    def _now(self, uid: str, namespace: str, take: Take) -> None:
        begun = self._cpu_clock()
        take()
        spent = self._cpu_clock() - begun
        if spent <= DEAR_SECONDS or not uid:
            self._dear.pop(uid, None)
            return
        self._dear[uid] = self._dear.get(uid, 0) + 1
        now = self._clock()
        if len(self._free_at) > MOST_NAMESPACES:
            self._free_at = {key: at for key, at in self._free_at.items() if at > now}
        pause = min(PAUSES * spent, LONGEST_SECONDS)
        self._free_at[namespace] = now + pause


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
