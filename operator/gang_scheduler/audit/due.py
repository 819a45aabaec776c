"""Cases that are judged later, when the watches of other kinds have caught up."""

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Due(Generic[T]):
    """Cases in the order in which they came up, each due `seconds` later."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._cases: deque[tuple[float, T]] = deque()

    def add(self, at: float, case: T) -> None:
        """Add a case that came up at a time."""
        self._cases.append((at + self._seconds, case))

    def take(self, now: float) -> Iterator[T]:
        """Take those out that are due."""
        while self._cases and self._cases[0][0] <= now:
            yield self._cases.popleft()[1]
