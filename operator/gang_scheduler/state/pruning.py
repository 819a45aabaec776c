"""Records by key that outlive what they are of, and are dropped once there are too many."""

from collections.abc import Collection, Hashable
from typing import Final, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MOST_GONE: Final = 1000
"""So many records of what is gone are kept at least: to look for them costs a step for each."""


def pruned(records: dict[K, V], there: Collection[K]) -> dict[K, V]:
    """Return records without those of keys that are gone, once these are more than the others."""
    if len(records) <= 2 * len(there) + MOST_GONE:
        return records
    living = frozenset(there)
    return {key: each for key, each in records.items() if key in living}
