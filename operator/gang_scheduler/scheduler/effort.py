"""How much is searched in one cycle, counted in looks: the same snapshot gives the same plan.

A look is what it takes to offer the nodes to one class, about a twentieth of a millisecond. Where
looks are used up, a search ends with the best that it has found, and says that it was cut off.
"""

from collections.abc import Hashable, Sequence
from typing import Final

from gang_scheduler.model.gangs import GangKey

MOST_LOOKS: Final = 3_600
"""What the searches of a cycle share: each may take a part of what is left."""
PART: Final = 2
RESERVED: Final = 1_900
"""What one gang has besides, another one in each cycle: whatever others need, its turn comes."""
LEAST: Final = 100
"""What every search has, until nothing is left of all."""
OVERRUN: Final = 1_000
"""By how much a search may exceed its share for something to be found at all."""
MOST_OF_ALL: Final = 5_500
"""Where this is used up, only what needs no search is decided."""
NODES_A_LOOK: Final = 400
MIX: Final = 2_654_435_761
"""Spreads consecutive seconds over the gangs, so that no rhythm of the cycles leaves one out."""


class Effort:
    """The looks of one cycle. A search is one of a gang, for a place or for victims."""

    def __init__(self, gangs: Sequence[GangKey] = (), taken_at: int = 0) -> None:
        self.spent = 0
        self._limit = MOST_OF_ALL
        self._turn = gangs[(taken_at * MIX >> 16) % len(gangs)] if gangs else None
        self._left: dict[Hashable, int] = {}
        self._cut_off: set[Hashable] = set()
        self._search: Hashable = None
        self.begin(None)

    def begin(self, gang: GangKey | None, what: str = "place") -> None:
        """Begin a search, or go on with it: what follows is counted for it."""
        self._search = gang, what
        if self._search not in self._left:
            share = max((MOST_LOOKS - self.spent) // PART, LEAST)
            turn = gang is not None and gang == self._turn
            self._left[self._search] = share + (RESERVED if turn else 0)

    def spend(self, looks: int) -> None:
        """Count looks."""
        self.spent += looks
        self._left[self._search] -= looks

    def may_go_on(self) -> bool:
        """Tell whether there are looks left for the search; if not, note that it was cut off."""
        if self._left[self._search] > 0 and self.spent < self._limit:
            return True
        self.cut()
        return False

    def extend(self) -> None:
        """Give the search some looks more, to carry out what it has found."""
        self._left[self._search] = max(self._left[self._search], LEAST)
        self._limit = max(self._limit, self.spent + LEAST)

    def cut(self) -> None:
        """Note that the search was cut off."""
        self._cut_off.add(self._search)

    def may_begin(self) -> bool:
        """Tell whether there are looks left to find anything at all; if not, note it, too."""
        if self._left[self._search] <= -OVERRUN:
            self.cut()
            return False
        return not self.is_used_up()

    def is_used_up(self) -> bool:
        """Tell whether no search has any looks left; if so, note that this one was cut off."""
        if self.spent < self._limit:
            return False
        self.cut()
        return True

    @property
    def cut_off(self) -> bool:
        """Whether the search in hand was cut off."""
        return self._search in self._cut_off


def looks(nodes: int, classes: int = 1) -> int:
    """Return what it costs to offer so many nodes to so many classes."""
    return classes * (4 + nodes // NODES_A_LOOK)
