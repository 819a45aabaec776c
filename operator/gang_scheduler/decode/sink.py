"""The port on which decoded objects of one kind arrive. `state.kinds` joins it with the cache."""

from collections.abc import Collection
from typing import Protocol, TypeVar

T = TypeVar("T")


class HasUid(Protocol):
    """A noun of one object."""

    @property
    def uid(self) -> str:
        """The uid of the object."""


class Sink(Protocol[T]):
    """Where objects of one kind go. What a change means for gangs is no business of the caller."""

    def upsert(self, noun: T, /) -> None:
        """Add or replace an object."""

    def delete(self, uid: str, /) -> None:
        """Forget an object; one that is not known is no error."""

    def uids(self) -> Collection[str]:
        """Return the uids of all known objects."""

    def known(self, uid: str, /) -> T | None:
        """Return an object as it is known; always None for a kind that does not need that."""
