"""Tells newer states of an object from older ones, whichever way they come and however late.

A list and a watch beside it may bring states of one object in any order, and a connection that
stalls delivers minutes later. The API server gives every write a larger resourceVersion, so of two
states the one with the smaller version is older (KEP-5504 makes that a promise).
"""

import sys
import time
from collections.abc import Callable
from typing import Final

GONE_SECONDS: Final = 600.0
"""So long a deletion is remembered at least, and twice as long at most: no event comes later."""
MOST_DIGITS: Final = 20
FOR_GOOD: Final = sys.maxsize
"""The version of an object that is missing from a list: no uid is used twice."""


class Versions:
    """The newest version seen of every object, by uid; `newest` is the newest of all objects."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.newest = 0
        self._newest: dict[str, int] = {}
        self._clock = clock
        # In two halves, of which the older one is forgotten whole.
        self._gone: dict[str, int] = {}
        self._gone_before: dict[str, int] = {}
        self._began_at = clock()

    def seen(self, uid: str, version: str) -> bool:
        """Note a state, and return True, unless a newer one is known or the object is gone."""
        number = number_of(version)
        if number and number <= max(self._gone.get(uid, 0), self._gone_before.get(uid, 0)):
            return False
        if number and number < self._newest.get(uid, 0):
            return False
        self._gone.pop(uid, None)
        self._gone_before.pop(uid, None)
        self._newest[uid] = number
        self.newest = max(self.newest, number)
        return True

    def has(self, uid: str, version: str) -> bool:
        """Return whether this is the newest state that is known of an object."""
        number = number_of(version)
        return number > 0 and self._newest.get(uid) == number

    def gone(self, uid: str, version: str) -> None:
        """Note a deletion; without a version, of the newest state that is known."""
        self._note_gone(uid, max(self._newest.get(uid, 0), number_of(version)))

    def missing(self, uid: str) -> None:
        """Note that an object is missing from a list."""
        self._note_gone(uid, FOR_GOOD)

    def forget(self, uid: str) -> None:
        """Know nothing of an object: it may come back in the state that it had."""
        for known in (self._newest, self._gone, self._gone_before):
            known.pop(uid, None)

    def as_of(self, version: str, before: int) -> None:
        """Note the version of a list; `before` was the newest version when it was requested.

        A list older than `before` means that etcd was restored from a backup: all versions are
        forgotten.
        """
        if 0 < number_of(version) < before:
            self._newest.clear()
            self._gone.clear()
            self._gone_before.clear()
            self.newest = 0

    def _note_gone(self, uid: str, version: int) -> None:
        self._newest.pop(uid, None)
        now = self._clock()
        if now - self._began_at > GONE_SECONDS:
            self._gone_before, self._gone, self._began_at = self._gone, {}, now
        self._gone[uid] = version


def number_of(version: str) -> int:
    """Return a resourceVersion as a number; 0 without one, or if it is not a number."""
    is_number = len(version) <= MOST_DIGITS and version.isascii() and version.isdigit()
    return int(version) if is_number else 0
