"""What objects were like within the last minutes: watches of two kinds are not in step."""

from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Versions(Generic[T]):
    """The versions of objects by key, each with the second from which on it was seen.

    A version that was replaced is kept for `keep_seconds`, and so is what is known of an object
    that is gone.
    """

    def __init__(self, keep_seconds: float) -> None:
        self._keep_seconds = keep_seconds
        self._kept: dict[str, deque[tuple[float, T | None]]] = defaultdict(deque)
        self._puts: deque[tuple[float, str]] = deque()
        self.turned_at = float("-inf")
        """When an object came or went last."""
        self.gone_at = float("-inf")
        """When an object went last."""

    def put(self, key: str, version: T | None, at: float) -> None:
        """Note a version; None: the object is gone."""
        kept = self._kept[key]
        if (version is None) != (not kept or kept[-1][1] is None):
            self.turned_at = at
            self.gone_at = at if version is None else self.gone_at
        kept.append((at, version))
        self._puts.append((at, key))
        self._forget_before(at - self._keep_seconds)

    def latest(self, key: str) -> T | None:
        """Return the newest version; None if there is no such object."""
        kept = self._kept.get(key)
        return kept[-1][1] if kept else None

    def between(self, key: str, begin: float, end: float) -> list[T | None]:
        """Return all versions that were the newest at some time between, the oldest first.

        None stands for a time in which the object was not there.
        """
        found: list[T | None] = []
        kept = list(self._kept.get(key, ()))
        if not kept or kept[0][0] > begin:
            found.append(None)
        for number, (since, version) in enumerate(kept):
            until = kept[number + 1][0] if number + 1 < len(kept) else end
            if since <= end and until >= begin:
                found.append(version)
        return found

    def _forget_before(self, end: float) -> None:
        """Forget what was replaced before, also of objects that have not changed since."""
        while self._puts and self._puts[0][0] < end:
            _, key = self._puts.popleft()
            kept = self._kept.get(key, deque())
            while len(kept) > 1 and kept[1][0] < end:
                kept.popleft()
            if kept and kept[-1][1] is None and kept[-1][0] < end:
                del self._kept[key]

    def __iter__(self) -> Iterator[T]:
        """Return the newest versions of all objects that are there."""
        return (kept[-1][1] for kept in self._kept.values() if kept and kept[-1][1] is not None)
