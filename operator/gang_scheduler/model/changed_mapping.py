"""Mappings of a snapshot whose cost grows with the number of changes, not of entries."""

from collections.abc import Iterator, Mapping
from typing import Final, TypeVar, overload

V = TypeVar("V")
D = TypeVar("D")
MOST_CHANGES: Final = 256
"""With more changes than this, or than a sixteenth of the entries, a view has a new base."""
PART: Final = 16


class ChangedMapping(Mapping[str, V]):
    """A mapping as it is at one moment: a `base` that several views share, and `changes` to it.

    A change to None is an entry that is gone. If the base is new, `earlier` is the one before, and
    `renewed` are the keys in which the two may differ.
    """

    def __init__(
        self,
        base: Mapping[str, V],
        changes: Mapping[str, V | None],
        earlier: Mapping[str, V] | None = None,
        renewed: frozenset[str] = frozenset(),
    ) -> None:
        self.base, self.changes = base, changes
        self.earlier, self.renewed = earlier, renewed
        gone = sum(each is None and key in base for key, each in changes.items())
        came = sum(each is not None and key not in base for key, each in changes.items())
        self._number = len(base) + came - gone

    def __getitem__(self, key: str) -> V:
        """Return the entry of a key. Raises KeyError."""
        if key not in self.changes:
            return self.base[key]
        found = self.changes[key]
        if found is None:
            raise KeyError(key)
        return found

    @overload
    def get(self, key: str, /) -> V | None: ...
    @overload
    def get(self, key: str, /, default: D) -> V | D: ...
    def get(self, key: str, /, default: object = None) -> object:
        """Return the entry of a key, or the default."""
        if key not in self.changes:
            return self.base.get(key, default)
        found = self.changes[key]
        return default if found is None else found

    def __contains__(self, key: object) -> bool:
        return self.changes[key] is not None if key in self.changes else key in self.base  # type: ignore[index]

    def __iter__(self) -> Iterator[str]:
        for key in self.base:
            if key not in self.changes or self.changes[key] is not None:
                yield key
        for key, each in self.changes.items():
            if each is not None and key not in self.base:
                yield key

    def __len__(self) -> int:
        return self._number

    def differs_in(self, before: Mapping[str, V]) -> set[str] | None:
        """Return the keys in which an earlier mapping may differ; None if that is not known."""
        if not isinstance(before, ChangedMapping):
            return None
        if before.base is self.base:
            return {*before.changes, *self.changes}
        if before.base is self.earlier:
            return {*before.changes, *self.renewed, *self.changes}
        return None


class FollowedDict(dict[str, V]):
    """A dictionary that knows what has changed since its last base."""

    def __init__(self) -> None:
        super().__init__()
        self._base: dict[str, V] = {}
        self._earlier: dict[str, V] | None = None
        self._renewed: frozenset[str] = frozenset()
        self._changed: set[str] = set()

    def put(self, key: str, entry: V | None) -> V | None:
        """Set the entry of a key, or remove it (None); return the former entry."""
        before = self.get(key)
        if entry is None:
            self.pop(key, None)
        else:
            self[key] = entry
        if entry is not before:
            self._changed.add(key)
        return before

    def view(self) -> ChangedMapping[V]:
        """Return the mapping as it is now. Later changes of the dictionary do not change it."""
        if len(self._changed) > max(MOST_CHANGES, len(self) // PART):
            self._earlier, self._renewed = self._base, frozenset(self._changed)
            self._base = dict(self)
            self._changed.clear()
        changes = {key: self.get(key) for key in self._changed}
        return ChangedMapping(self._base, changes, self._earlier, self._renewed)
