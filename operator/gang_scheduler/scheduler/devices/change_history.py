"""What changed between versions of a value, each made from the version before."""

from typing import Final, Generic, TypeVar

T = TypeVar("T")
MOST_FOLLOWED: Final = 64
"""The number of last changes that are remembered."""


class ChangeHistory(Generic[T]):
    """The last changes that led to a version of a value. Immutable.

    Two versions may be made from the same one: neither history then contains the other.
    """

    __slots__ = ("changes", "mark")

    def __init__(self) -> None:
        self.mark = object()
        self.changes: tuple[tuple[object, frozenset[T] | None], ...] = ()
        """The last changes, each after the mark of the value that was changed."""

    def followed_by(self, changed: frozenset[T] | None) -> "ChangeHistory[T]":
        """Return the history of the next version. `changed` is None if all may have changed."""
        after: ChangeHistory[T] = ChangeHistory()
        after.changes = (*self.changes[1 - MOST_FOLLOWED :], (self.mark, changed))
        return after

    def since(self, before: "ChangeHistory[T]") -> frozenset[T] | None:
        """Return what may have changed since another version; None if that is not known."""
        if before.mark is self.mark:
            return frozenset()
        found: set[T] = set()
        for mark, changed in reversed(self.changes):
            if changed is None:
                return None
            found |= changed
            if mark is before.mark:
                return frozenset(found)
        return None
