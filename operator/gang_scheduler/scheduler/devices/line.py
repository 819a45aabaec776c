"""What changed from one value to the next, in values that are each made of the one before."""

from typing import Final, Generic, TypeVar

T = TypeVar("T")
MOST_FOLLOWED: Final = 64
"""So many last changes are known."""


class Line(Generic[T]):
    """The place of a value in a line of values, and what changed on the way to it. Immutable.

    Two values may be made of the same one: neither is on the way to the other.
    """

    __slots__ = ("changes", "mark")

    def __init__(self) -> None:
        self.mark = object()
        self.changes: tuple[tuple[object, frozenset[T] | None], ...] = ()
        """The last changes, each after the mark of the value that was changed."""

    def then(self, changed: frozenset[T] | None) -> "Line[T]":
        """Return the place of the next value; None if anything may have changed."""
        after: Line[T] = Line()
        after.changes = (*self.changes[1 - MOST_FOLLOWED :], (self.mark, changed))
        return after

    def since(self, before: "Line[T]") -> frozenset[T] | None:
        """Return what may have changed since another value; None if that is not known."""
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
