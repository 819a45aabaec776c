"""The work of one cycle, counted in looks, not in time: the same snapshot gives the same plan.

A look is the work of offering the nodes to one class, about a twentieth of a millisecond. A search
that has used up its looks returns the best it has found, marked as cut off. Once the cycle has done
its share of work, it begins no further group: the other groups are tried in the next cycle.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from gang_scheduler.model.refs import GangKey

MOST_LOOKS: Final = 3_600
"""The looks of all searches of a cycle together; a new search may use half of the looks left."""
PART: Final = 2
RESERVED: Final = 1_900
"""Extra looks for one gang in each cycle.

Gangs take turns, first by namespace, so that each is searched for in some cycle. The gang gets them
even if all other looks are spent.
"""
LEAST: Final = 100
"""Looks that every search has at least, until `MOST_OF_ALL` is used up."""
OVERRUN: Final = 1_000
"""A search may exceed its share by this many looks to find anything at all."""
MOST_OF_ALL: Final = 5_500
"""Once this many looks are spent, the rest of the cycle decides without a search."""
MOST_OF_CYCLE: Final = 6_000
"""Looks of one cycle in total, searches included: about a third of a second."""
PART_OF_A_GROUP: Final = 0.25
"""The part of a cycle's work that may go into the options for one group: the ways to start it.

The first options are always tried. Options are the flavor assignments of a group, and the orders in
which its gangs are placed.
"""
LOOKS_A_GANG: Final = 2.5
"""The cost of rebuilding a gang for a snapshot, in looks."""
MOST_OF_SNAPSHOT: Final = 0.75
"""At most this part of a cycle's work is its snapshot: the rest is left for decisions."""
NODES_A_LOOK: Final = 400
_Option = TypeVar("_Option")
_Search = tuple[GangKey | None, str]
"""The gang and the purpose of a search."""
MIX: Final = 2_654_435_761
"""Spreads consecutive seconds over the gangs, so that periodic cycles leave no gang out."""


class Effort:
    """The looks of one cycle. A search is for a place or for victims of one gang.

    `taken_at`, in seconds, chooses the gang whose turn it is. `spent` looks count as used at the
    start, which leaves fewer for each search. `work` is the most that a search may do in all; by
    default, the work of a whole cycle.
    """

    def __init__(
        self,
        gangs: Sequence[GangKey] = (),
        taken_at: int = 0,
        spent: int = 0,
        work: float | None = None,
    ) -> None:
        self.spent = spent
        self.done: float = 0
        """Looks of all work, searches included."""
        self._work = MOST_OF_CYCLE if work is None else work
        self._limit = MOST_OF_ALL
        self._moment = taken_at * MIX >> 16
        self._turn = _whose_turn(gangs, self._moment)
        self._left: dict[_Search, int] = {}
        self._done_before: dict[_Search, float] = {}
        """The value of `done` when each search began."""
        self._cut_off: set[_Search] = set()
        self._search: _Search = (None, "")
        self.begin(None)

    def begin(self, gang: GangKey | None, what: str = "place") -> None:
        """Begin or continue a search: looks are counted for it from now on."""
        self._search = gang, what
        if self._search not in self._left:
            share = max((MOST_LOOKS - self.spent) // PART, LEAST)
            self._left[self._search] = share + (RESERVED if self._has_turn(gang) else 0)
            self._done_before[self._search] = self.done

    def count(self, looks: float) -> None:
        """Count work that belongs to no search."""
        self.done += looks

    def count_snapshot(self, gangs: float) -> None:
        """Count the work of making the snapshot, in gangs that were rebuilt for it."""
        self.done += min(gangs * LOOKS_A_GANG, MOST_OF_SNAPSHOT * MOST_OF_CYCLE)

    def takes(self, looks: float, part: float = 1) -> bool:
        """Count work unless this part of the cycle is used up; return whether it was counted."""
        # This runs for every waiting gang: one more call would be noticeable.
        if self.done >= part * MOST_OF_CYCLE or self.spent >= part * MOST_LOOKS:
            return False
        self.done += looks
        return True

    def is_over(self, part: float = 1) -> bool:
        """Return whether this part of the work of a cycle is done: no further group is begun."""
        return self.done >= part * MOST_OF_CYCLE or self.spent >= part * MOST_LOOKS

    def is_done(self) -> bool:
        """Return whether all work of a cycle is done, searches included."""
        return self.done >= MOST_OF_CYCLE

    def has_taken(self, part: float, since: float) -> bool:
        """Return whether this part of a cycle's work was done since the count was `since`."""
        return self.done - since >= part * MOST_OF_CYCLE

    def limit_at(self, part: float) -> float:
        """Return the part of all work that is done once this part of the remaining work is done."""
        done = max(self.done / MOST_OF_CYCLE, self.spent / MOST_LOOKS)
        return done + part * max(1 - done, 0)

    def rotated(self, options: Sequence[_Option]) -> Sequence[_Option]:
        """Return the options, beginning at a different one in each cycle."""
        first = self._moment % len(options) if options else 0
        return [*options[first:], *options[:first]]

    def renew(self) -> None:
        """Start over with the looks of a new cycle."""
        self.spent, self.done = 0, 0
        self._limit = MOST_OF_ALL
        self._left.clear()
        self._done_before.clear()
        self.begin(*self._search)

    def spend(self, looks: int) -> None:
        """Count looks of the present search."""
        self.spent += looks
        self.done += looks
        self._left[self._search] -= looks

    def charge(self, looks: int) -> None:
        """Charge the present search for work that `count` has counted already."""
        self.spent += looks
        self._left[self._search] -= looks

    def may_go_on(self) -> bool:
        """Return whether the search has looks left; if not, note that it was cut off."""
        if self._left[self._search] > 0 and self.spent < self._most():
            return True
        self.cut()
        return False

    def affords(self, looks: int) -> bool:
        """Return whether the search has more than this many looks left."""
        return looks < min(self._left[self._search], self._most() - self.spent)

    def extend(self) -> None:
        """Leave the search LEAST looks or more, to place the pods once the victims are found."""
        self._left[self._search] = max(self._left[self._search], LEAST)
        self._limit = max(self._limit, self.spent + LEAST)

    def may_work_on(self, times: int = 1) -> bool:
        """Return whether the search may do more work; if not, note that it was cut off.

        It may do so many `times` the work of a search.
        """
        if self.done - self._done_before[self._search] < times * self._work:
            return True
        self.cut()
        return False

    def cut(self) -> None:
        """Note that the search was cut off."""
        self._cut_off.add(self._search)

    def may_begin(self) -> bool:
        """Return whether looks are left for another search; if not, note that this one was cut."""
        return not self.has_overrun() and not self.is_used_up()

    def has_overrun(self) -> bool:
        """Return whether the running search took far more than its share; if so, note the cut."""
        if self._left[self._search] > -OVERRUN:
            return False
        self.cut()
        return True

    def is_used_up(self) -> bool:
        """Return whether no search has any looks left; if so, note that this one was cut off."""
        if self.spent < self._most():
            return False
        self.cut()
        return True

    def _most(self) -> int:
        """Return the number of looks after which the running search must stop."""
        gang, _ = self._search
        return self._limit + (RESERVED if self._has_turn(gang) else 0)

    def _has_turn(self, gang: GangKey | None) -> bool:
        return gang is not None and gang == self._turn

    @property
    def cut_off(self) -> bool:
        """Whether the running search was cut off."""
        return self._search in self._cut_off

    @property
    def ever_cut_off(self) -> bool:
        """Whether any search was cut off."""
        return bool(self._cut_off)


def _whose_turn(gangs: Sequence[GangKey], moment: int) -> GangKey | None:
    """Return the gang with the extra looks: namespaces take turns, however many gangs they have."""
    by_namespace: dict[str, list[GangKey]] = {}
    for key in gangs:
        by_namespace.setdefault(key.namespace, []).append(key)
    if not by_namespace:
        return None
    turn, row = divmod(moment, len(by_namespace))
    own = list(by_namespace.values())[row]
    return own[turn % len(own)]


def looks(nodes: int, classes: int = 1) -> int:
    """Return the looks for offering this many nodes to this many classes."""
    return classes * (4 + nodes // NODES_A_LOOK)
