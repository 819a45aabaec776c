"""Records by key that are dropped once their subjects are gone."""

from collections.abc import Collection, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_GONE: Final = 1000
"""At least this many records of deleted subjects are kept, since finding them takes a step each."""


def pruned(records: dict[K, V], there: Collection[K]) -> dict[K, V]:
    """Return the records; drop records of deleted subjects once they outnumber the others."""
    if len(records) <= 2 * len(there) + MOST_GONE:
        return records
    living = frozenset(there)
    return {key: each for key, each in records.items() if key in living}


class Reported(Generic[K, V]):
    """The last message about each subject, so that the same is not reported again."""

    def __init__(self) -> None:
        self._words: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._words)

    def is_news(self, key: K, words: V) -> bool:
        """Return whether a message differs from the last one for the key, and keep it."""
        if key in self._words and self._words[key] == words:
            return False
        self._words[key] = words
        return True

    def forget(self, key: K) -> bool:
        """Forget the message about a subject; return whether there was one."""
        return self._words.pop(key, None) is not None

    def keep(self, there: Collection[K]) -> None:
        """Forget all subjects but these."""
        self._words = {key: words for key, words in self._words.items() if key in there}

    def prune(self, there: Collection[K]) -> None:
        """Forget deleted subjects once they outnumber the others."""
        self._words = pruned(self._words, there)
