"""What the labels of metrics may say: each has a bound, else users could make series for ever."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final, Protocol

OTHER: Final = "_other"


class Bound(Protocol):
    """Which values a label has."""

    @property
    def most(self) -> int:
        """How many values there are at most, `other` not among them."""

    @property
    def other(self) -> str:
        """What is said instead of any value beyond the bound."""

    def shown(self, value: str) -> str:
        """Return what is said for a value: itself, or `other`."""


@dataclass(frozen=True, slots=True)
class Closed:
    """The values of a closed list."""

    values: tuple[str, ...]
    other: str = OTHER

    @property
    def most(self) -> int:
        """How many values there are."""
        return len(self.values)

    def shown(self, value: str) -> str:
        """Return the value, if it is of the list."""
        return value if value in self.values else self.other


@dataclass(slots=True, eq=False)
class Limited:
    """Any values, as they come, up to `most`. One that is not kept makes room for another."""

    most: int
    other: str = OTHER
    values: set[str] = field(default_factory=set)

    def shown(self, value: str) -> str:
        """Return the value, if it is one of the first."""
        if value in self.values:
            return value
        if len(self.values) >= self.most:
            return self.other
        self.values.add(value)
        return value

    def keep(self, values: Collection[str]) -> set[str]:
        """Forget all values but these; return those that are forgotten."""
        gone = self.values.difference(values)
        self.values -= gone
        return gone


@dataclass(frozen=True, slots=True)
class Label:
    """The name of a label, and what it may say. Labels of several metrics may share a bound.

    A scrape renames `job`, `instance`, `namespace` and `pod`: no label has such a name. One that
    has a bound of its `own` forgets the values that its gauge does not show any more.
    """

    name: str
    bound: Bound
    own: bool = False

    def keep(self, values: Collection[str]) -> None:
        """Forget all other values, if the bound is the label's own."""
        if self.own and isinstance(self.bound, Limited):
            self.bound.keep(values)
