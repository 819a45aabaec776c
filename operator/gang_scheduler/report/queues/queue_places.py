"""The places of gangs that wait, as their PodGroups tell them: now and then, of the first ones."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gang_scheduler.model.queues import QueueFigures
from gang_scheduler.model.refs import GangKey

MOST: Final = 100
"""Of how many gangs of a queue the place is told."""
LEAST_SECONDS: Final = 30
"""Places change with every gang that starts: they are told again only after this time."""


class Place(NamedTuple):
    """The `position` of a gang among the `pending` of its queue; 1 is the next."""

    position: int
    pending: int


class QueuePlaces:
    """The places that are told now."""

    def __init__(self) -> None:
        self.in_use = False
        """Whether there ever were figures."""
        self._places: dict[GangKey, Place] = {}
        self._next = 0.0

    def show(self, figures: Sequence[QueueFigures], now: float) -> set[GangKey]:
        """Take in figures; return the gangs of which the place is new.

        `now` is in seconds. Called again within LEAST_SECONDS, it only tells the places of gangs
        that had none.
        """
        places = dict(_places(figures))
        self.in_use = True
        if now < self._next:
            new = {key: place for key, place in places.items() if key not in self._places}
            self._places.update(new)
            return set(new)
        known = self._places.keys() | places.keys()
        changed = {key for key in known if self._places.get(key) != places.get(key)}
        if changed:
            self._next = now + LEAST_SECONDS
        self._places = places
        return changed

    def of(self, key: GangKey) -> Place | None:
        """Return the place of a gang, if it waits and is among the first."""
        return self._places.get(key)


def _places(figures: Sequence[QueueFigures]) -> Iterator[tuple[GangKey, Place]]:
    for each in figures:
        number = len(each.pending)
        for position, key in enumerate(each.pending[:MOST], start=1):
            yield key, Place(position, number)
