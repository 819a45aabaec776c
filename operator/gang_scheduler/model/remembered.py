"""What was found out before, in bounded memory: whatever users write, and however often.

A number of entries alone bounds nothing: an annotation may have 256 KiB, a pod a megabyte, and what
is remembered would outlive the object that said it. So only what is short is remembered for good,
and what may be long for as long as it is in use.
"""

import functools
import weakref
from collections.abc import Callable
from typing import Final, Generic, ParamSpec, TypeVar

LONGEST: Final = 4096
"""How many characters or bytes the arguments of a result that is remembered have at most."""

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def by_short_texts(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return what remembers the newest results, each by arguments that are short in all.

    Arguments are strings, and tuples of strings and tuples; what else there is counts as short.
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
    # So many parts are too long in any case.
    return len(part) if len(part) > LONGEST else sum(map(size_of, part))


class Interned(Generic[T]):
    """Equal objects become one, which is forgotten with the last that has it."""

    def __init__(self) -> None:
        self._first: weakref.WeakKeyDictionary[T, weakref.ref[T]] = weakref.WeakKeyDictionary()

    def __len__(self) -> int:
        """Return how many objects are in use."""
        return len(self._first)

    def __call__(self, found: T) -> T:
        """Return the first equal object that is in use, or this one."""
        known = self._first.get(found)
        first = known() if known is not None else None
        if first is None:
            self._first[found] = weakref.ref(found)
        return found if first is None else first
