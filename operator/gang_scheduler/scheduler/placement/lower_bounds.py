"""Count the room that members need at least, so that a hopeless search is never begun.

Members that request at least some amount of a resource never have more places than pods that
request just that amount, however they are packed. So for every resource, and for every amount that
a class requests, the classes that request at least this amount are counted together. Each of them
counts as if it requested only the minimum of these classes, in every resource.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.model.nodes import BoolArray, IntArray

MOST_AMOUNTS: Final = 8
"""At most this many amounts of one resource are counted, spread from the least to the most."""
MOST: Final = 1_000_000
"""The places that a node has for pods that ask for nothing."""

LOOKS_A_FLOOR: Final = 1.0
CELLS_A_LOOK: Final = 20_000
"""Adding up what this many nodes offer to one class takes as long as one look."""


class Floor(NamedTuple):
    """The `number` of members of some `classes`; each member requests at least `request`."""

    classes: IntArray
    request: IntArray
    number: int


class Floors:
    """The least room that members of some classes need. `requests`: (classes, resources)."""

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
        """Return how many members of each floor fit on each node: (floors, nodes).

        `free` is nodes by resources; `offers`, classes by nodes, is how many of a class fit alone.
        """
        offered = np.minimum(offers, self.counts[:, np.newaxis])
        return np.array(
            [
                np.minimum(times(each.request, free), offered[each.classes].sum(axis=0))
                for each in self.floors
            ],
            dtype=np.int64,
        ).reshape(len(self.floors), len(free))

    def looks(self, nodes: int) -> float:
        """Return the looks that `places` takes for this many nodes."""
        cells = nodes * sum(len(each.classes) for each in self.floors)
        return len(self.floors) * LOOKS_A_FLOOR + cells / CELLS_A_LOOK

    def open_to(self, rows: BoolArray) -> BoolArray:
        """Return the nodes open to each floor; `rows` are the nodes open to each class."""
        found = [rows[each.classes].any(axis=0) for each in self.floors]
        return np.array(found, dtype=np.bool_).reshape(len(self.floors), rows.shape[1])


def times(request: IntArray, free: IntArray) -> IntArray:
    """Return for each node how many pods with this request its free room holds."""
    asked = np.flatnonzero(request)
    if not len(asked):
        return np.full(len(free), MOST, dtype=np.int64)
    found: IntArray = (free[:, asked] // request[asked]).min(axis=1).clip(0, MOST)
    return found


def _together(requests: IntArray) -> Iterator[IntArray]:
    """Yield the classes of each floor: each class alone, then all that request at least an amount.

    Classes are given by their indexes.
    """
    seen: set[bytes] = set()
    alone = np.eye(len(requests), dtype=np.bool_)
    for chosen in (*alone[:MOST_AMOUNTS], *_splits_by_amount(requests)):
        if chosen.tobytes() not in seen:
            seen.add(chosen.tobytes())
            yield np.flatnonzero(chosen)


def _splits_by_amount(requests: IntArray) -> Iterator[BoolArray]:
    for column in requests.T:
        amounts = np.unique(column)
        few = np.linspace(0, len(amounts) - 1, min(len(amounts), MOST_AMOUNTS)).astype(int)
        yield from (column >= amount for amount in amounts[few])
