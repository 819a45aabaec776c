"""What members need at least, by plain counting: what is hopeless is never searched.

However members of several classes are packed, those that ask for at least so much of something
have no more places than pods that ask for just that. So for every resource and every amount of it
that a class asks for, the classes that ask for no less are counted together, as if each asked for
no more than the least of them, in every resource.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray

MOST_AMOUNTS: Final = 8
"""How many amounts of one resource are looked at, from the least to the most."""
MOST: Final = 1_000_000
"""Places of pods that ask for nothing."""


class Floor(NamedTuple):
    """Members of these classes, by number; each of them asks for no less than `request`."""

    classes: IntArray
    request: IntArray
    number: int


class Floors:
    """What members of some classes need at least: `requests` is classes by resources."""

    def __init__(self, requests: IntArray, counts: Sequence[int]) -> None:
        self.requests = requests
        self.counts = np.array(counts, dtype=np.int64)
        self.floors = [
            Floor(chosen, requests[chosen].min(axis=0), int(self.counts[chosen].sum()))
            for chosen in _together(requests)
        ]
        self.needed: IntArray = np.array([each.number for each in self.floors], dtype=np.int64)
        self.least: IntArray = np.array([each.request for each in self.floors], dtype=np.int64)

    def places(self, free: IntArray, offers: IntArray) -> IntArray:
        """Return how many of each floor fit on each node, floors by nodes.

        `free` is nodes by resources; `offers`, classes by nodes, are how many would fit alone.
        """
        offered = np.minimum(offers, self.counts[:, np.newaxis])
        return np.array(
            [
                np.minimum(times(each.request, free), offered[each.classes].sum(axis=0))
                for each in self.floors
            ],
            dtype=np.int64,
        ).reshape(len(self.floors), len(free))

    def open_to(self, rows: BoolArray) -> BoolArray:
        """Return where members of each floor may be, from where those of each class may."""
        found = [rows[each.classes].any(axis=0) for each in self.floors]
        return np.array(found, dtype=np.bool_).reshape(len(self.floors), rows.shape[1])


def times(request: IntArray, free: IntArray) -> IntArray:
    """Return how often a request fits into what is free, by nodes."""
    asked = np.flatnonzero(request)
    if not len(asked):
        return np.full(len(free), MOST, dtype=np.int64)
    found: IntArray = (free[:, asked] // request[asked]).min(axis=1).clip(0, MOST)
    return found


def _together(requests: IntArray) -> Iterator[IntArray]:
    """Yield classes that are counted together: each alone, and those that ask for no less."""
    seen: set[bytes] = set()
    alone = np.eye(len(requests), dtype=np.bool_)
    for chosen in (*alone[:MOST_AMOUNTS], *_by_amount(requests)):
        if chosen.tobytes() not in seen:
            seen.add(chosen.tobytes())
            yield np.flatnonzero(chosen)


def _by_amount(requests: IntArray) -> Iterator[BoolArray]:
    for column in requests.T:
        amounts = np.unique(column)
        few = np.linspace(0, len(amounts) - 1, min(len(amounts), MOST_AMOUNTS)).astype(int)
        yield from (column >= amount for amount in amounts[few])
