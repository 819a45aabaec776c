"""What is remembered by key, and is dropped once the subject of the key is gone."""

from collections.abc import Collection, Hashable
from typing import Final, Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_GONE: Final = 1000
"""This many records of what is gone are kept at least: to look for them costs a step for each."""


def pruned(records: dict[K, V], there: Collection[K]) -> dict[K, V]:
    """Return records without those of keys that are gone, once these are more than the others."""
    if len(records) <= 2 * len(there) + MOST_GONE:
        return records
    living = frozenset(there)
    return {key: each for key, each in records.items() if key in living}


class Told(Generic[K, V]):
    """The words that each subject was told last, so that it is not told the same again."""

    def __init__(self) -> None:
        self._words: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._words)

    def is_news(self, key: K, words: V) -> bool:
        """Return whether words differ from those told last, and note that they are told now."""
        if key in self._words and self._words[key] == words:
            return False
        self._words[key] = words
        return True

    def forget(self, key: K) -> bool:
        """Forget what a subject was told; return whether it was told anything."""
        return self._words.pop(key, None) is not None

    def keep(self, there: Collection[K]) -> None:
        """Forget all subjects but these."""
        self._words = {key: words for key, words in self._words.items() if key in there}

    def prune(self, there: Collection[K]) -> None:
        """Forget the subjects that are gone, once they are more than the others."""
        self._words = pruned(self._words, there)
