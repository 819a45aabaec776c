"""The lines of the last cycle: where nothing has changed in one, what was found out still holds.

In a full cluster most gangs wait in the same order from cycle to cycle, and their requests are the
same. For these a cycle compares references, and does not read the gangs.
"""

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.plan import Refused
from gang_scheduler.model.queues import QueueRef, QueueSet
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey

KEPT_SECONDS: Final = 300
"""A line that no cycle has used for so long is dropped: its gangs may be gone."""


class Refusals(NamedTuple):
    """The refusals of the groups of a line in the positions from `first` to before `last`."""

    first: int
    last: int
    problem: Problem
    by_gang: Mapping[GangKey, Refused]


class KnownLine:
    """The groups of a queue in order, the first at the end, and what is known of each.

    `given` are the groups in the order of the snapshot. `basis` are the objects on which the
    requests depend. `used_at` is when a cycle last used it, in seconds. `kinds` has the kind of
    each group's request; None if it is not known, or if more must be known before its turn.
    """

    def __init__(
        self, given: Sequence[GangGroup], groups: Sequence[GangGroup], basis: tuple[object, ...]
    ) -> None:
        self.given = given
        self.groups = groups
        self.basis = basis
        self.used_at = 0
        self.kinds: list[object] = [None] * len(groups)
        self._refusals: dict[int, Refusals] = {}

    def is_of(self, given: Sequence[GangGroup], basis: tuple[object, ...]) -> bool:
        """Return whether these groups are the same objects, and their requests have not changed."""
        return (
            len(given) == len(self.given)
            and all(map(operator.is_, given, self.given))
            and all(map(operator.is_, basis, self.basis))
        )

    @functools.cached_property
    def gangs(self) -> frozenset[GangKey]:
        """The gangs of all its groups, also gangs that are whole."""
        own = (gang.key for group in self.groups for gang in group.gangs)
        return frozenset(own).union(*{group.declared for group in self.groups})

    def first_alike(self, place: int) -> int:
        """Return the lowest position from which all groups up to `place` are of the same kind."""
        kinds = self.kinds
        kind = kinds[place]
        while place and kinds[place - 1] is kind:
            place -= 1
        return place

    def refusals(self, first: int, last: int, problem: Problem) -> Refusals | None:
        """Return the refusals of these groups for the same problem, if they are known."""
        known = self._refusals.get(first)
        same = known is not None and known.last == last and known.problem is problem
        return known if same else None

    def keep(self, refusals: Refusals) -> None:
        """Keep the last refusals of the groups from a position on."""
        self._refusals[refusals.first] = refusals


class LastCycles:
    """The last line of each queue."""

    def __init__(self) -> None:
        self.lines: Mapping[QueueRef, KnownLine] = {}


class KnownLines:
    """The lines of the last cycles. Lines whose order depends on time are not kept.

    Many cycles have gangs of few queues, so a line is kept for a while. `now` is in seconds.
    """

    def __init__(self, declared: QueueSet, now: int) -> None:
        self._last = declared.cached("lines", (), LastCycles)
        self._lines: dict[QueueRef, KnownLine] = {}
        self._now = now

    def find(
        self, ref: QueueRef, given: Sequence[GangGroup], basis: tuple[object, ...]
    ) -> KnownLine | None:
        """Return the last line of a queue, if nothing has changed in it."""
        known = self._last.lines.get(ref)
        if known is None or not known.is_of(given, basis):
            return None
        self.keep(ref, known)
        return known

    def keep(self, ref: QueueRef, line: KnownLine) -> None:
        """Keep a line for later cycles."""
        line.used_at = self._now
        self._lines[ref] = line

    def settle(self) -> None:
        """Let later cycles find the lines of this one. Others are dropped after a while."""
        since = self._now - KEPT_SECONDS
        kept = {ref: line for ref, line in self._last.lines.items() if line.used_at >= since}
        self._last.lines = kept | self._lines
