"""Tells news from what is known already, whichever way it comes and however late.

A list and a watch that goes on beside it may tell of one object in any order, and a connection that
stalls delivers minutes later. The API server gives every write a larger resourceVersion, so the
state with the smaller one is the older one (KEP-5504 makes that a promise).
"""

import re
import sys
from typing import Final

MOST_GONE: Final = 1 << 16
"""So many deletions are remembered: none is told of that much later."""
_NUMBER: Final = re.compile(r"[0-9]{1,20}")
FOR_GOOD: Final = sys.maxsize
"""What is missing from a list was deleted, in whatever version: no uid is given twice."""


class Versions:
    """The newest version that was seen of every object, by uid; `newest` is that of them all."""

    def __init__(self) -> None:
        self.newest = 0
        self._newest: dict[str, int] = {}
        self._gone: dict[str, int] = {}

    def seen(self, uid: str, version: str) -> bool:
        """Take in a state, unless a newer one is known or the object is gone; tell whether."""
        number = number_of(version)
        if number and number <= self._gone.get(uid, 0):
            return False
        if number and number < self._newest.get(uid, 0):
            return False
        self._gone.pop(uid, None)
        self._newest[uid] = number
        self.newest = max(self.newest, number)
        return True

    def gone(self, uid: str, version: str) -> None:
        """Note a deletion; without a version, that no state that is known now may come back."""
        self._note_gone(uid, max(self._newest.get(uid, 0), number_of(version)))

    def missing(self, uid: str) -> None:
        """Note that a list has an object no more."""
        self._note_gone(uid, FOR_GOOD)

    def as_of(self, version: str, before: int) -> None:
        """Note that a list is of a version; `before` was the newest when it was asked for.

        Only a history that was restored from a backup is younger: then none of it was seen.
        """
        if 0 < number_of(version) < before:
            self._newest.clear()
            self._gone.clear()
            self.newest = 0

    def _note_gone(self, uid: str, version: int) -> None:
        self._newest.pop(uid, None)
        self._gone[uid] = version
        if len(self._gone) > MOST_GONE:
            del self._gone[next(iter(self._gone))]


def number_of(version: str) -> int:
    """Return a resourceVersion as the number that it is; 0 for none, or one that is no number."""
    return int(version) if _NUMBER.fullmatch(version) else 0
