"""Frozen records that are cheap to create by the million, and bounded caches."""

import functools
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Final, Generic, ParamSpec, TypeVar, dataclass_transform

# Records are for objects of which a cluster has very many. Their fields cannot be assigned either,
# but they are created faster. A frozen dataclass sets each field with a call. For a pod of 43
# fields that takes several times as long as assignments; it used to be a tenth of the time for
# reading all pods.

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a dataclass with slots whose fields the type checker protects from assignment."""
    return dataclass(slots=True)(cls)


def revised(old: T, **changes: object) -> T:
    """Return a record with some fields changed, several times faster than `replace` does it."""
    kind: Any = type(old)
    made: T = kind(*_values(kind)(old))
    for name, value in changes.items():
        setattr(made, name, value)
    return made


@functools.cache
def _values(cls: type[Any]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that reads all fields of a record, in the order of its constructor."""
    return attrgetter(*(each.name for each in fields(cls)))


# Caches with bounded memory, whatever users write. A bound on the number of entries is not enough:
# an annotation may have 256 KiB, a pod a megabyte, and a cached value would outlive its object. So
# only short values are cached for good; longer values are cached while they are in use.

LONGEST: Final = 4096
"""Results are remembered only if their arguments have at most this many characters or bytes."""

P = ParamSpec("P")
R = TypeVar("R")


def by_short_texts(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that remembers the newest results for arguments that are short in total.

    Arguments are strings, and tuples of strings and tuples; other values count as short.
    """

    def remember(function: Callable[P, R]) -> Callable[P, R]:
        cached = functools.lru_cache(maxsize=most, typed=True)(function)

        @functools.wraps(function)
        def found(*args: P.args, **kwargs: P.kwargs) -> R:
            if size_of(args) + size_of(tuple(kwargs.values())) > LONGEST:
                return function(*args, **kwargs)
            return cached(*args, **kwargs)  # type: ignore[arg-type]  # They are hashable.

        return found

    return remember


def size_of(part: object) -> int:
    """Return how many characters an argument has."""
    if isinstance(part, str):
        return len(part)
    if not isinstance(part, tuple):
        return 0
    # More parts than LONGEST are too long, whatever they are.
    return len(part) if len(part) > LONGEST else sum(map(size_of, part))


class Interned(Generic[T]):
    """Replaces equal objects by a single one, and forgets it once it is no longer used."""

    def __init__(self) -> None:
        self._first: weakref.WeakKeyDictionary[T, weakref.ref[T]] = weakref.WeakKeyDictionary()

    def __len__(self) -> int:
        """Return how many objects are in use."""
        return len(self._first)

    def __call__(self, found: T) -> T:
        """Return an equal object that is in use, or this one."""
        known = self._first.get(found)
        first = known() if known is not None else None
        if first is None:
            self._first[found] = weakref.ref(found)
        return found if first is None else first
