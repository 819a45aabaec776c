"""What the main thread works on, to be looked at from another thread meanwhile.

To note it costs next to nothing: nothing here is asked for unless the main thread is held up. Of
decisions the core notes it itself, for its errors, and is only looked at.
"""

import enum
from collections.abc import Mapping
from typing import Final, Protocol

from gang_scheduler.model.gangs import GangGroup
from gang_scheduler.model.refs import GangKey

Gangs = tuple[GangKey, ...]
"""The gangs of a group."""


class Work(enum.StrEnum):
    """The kinds of work that the event loop does."""

    CYCLE = "cycle"
    EVENT = "event"
    REPORT = "report"
    WRITE = "write"
    OTHER = "other"


CUT_SECONDS: Final = 10.0
CUT_AGAIN_SECONDS: Final = 2.0
"""CPU time after which a decision is cut, and once one of the cycle was. The first is so much that
a decision is rather ended than cut; what comes after it has waited long enough."""

_LAST: Final[dict[Work, str]] = {}


def note(work: Work, about: str) -> None:
    """Note what work of a kind is about that begins now."""
    _LAST[work] = about


def last(work: Work) -> str:
    """Return what work of a kind was about that began last; "" where it is not noted."""
    return _LAST.get(work, "")


class Deciding(Protocol):
    """A cycle under way: `deciding` is the group that it decides now, None between groups."""

    deciding: GangGroup | None


class DecisionCutError(Exception):
    """A decision on one group took so long that it was cut: all others are decided without it."""


class DecisionTimes:
    """How long the decisions on the groups of one cycle take, as another thread samples it.

    The main thread begins and ends cycles, the other one adds.
    """

    def __init__(self) -> None:
        self._steps: Deciding | None = None
        self._seconds: dict[Gangs, float] = {}
        self._cut: dict[Gangs, float] = {}

    def begin(self, steps: Deciding) -> None:
        """Look at a cycle from now on; it may be begun anew."""
        self._steps = steps

    def end(self) -> Mapping[Gangs, float]:
        """Look at no cycle any more; return what was added for each group."""
        seconds, self._steps, self._seconds, self._cut = self._seconds, None, {}, {}
        return seconds

    def so_far(self) -> Mapping[Gangs, float]:
        """Return what was added for each group until now. For any thread."""
        return dict(self._seconds)

    def is_too_long(self) -> bool:
        """Return whether the decision that is made now is to be cut. For any thread.

        Of each decision that is cut so much is spent; the next ones of the cycle have less.
        """
        gangs = self._gangs()
        if gangs is None:
            return False
        most = CUT_SECONDS if not self._cut else CUT_AGAIN_SECONDS
        # Not twice for the same time: till another cycle is begun, its group is still there.
        return self._seconds.get(gangs, 0.0) - self._cut.get(gangs, 0.0) >= most

    def cut(self) -> None:
        """Raise DecisionCutError out of a decision that takes too long. In the main thread."""
        gangs = self._gangs()
        if gangs is not None and self.is_too_long():
            self._cut[gangs] = self._seconds[gangs]
            raise DecisionCutError(f"cut after {self._seconds[gangs]:.1f} s")

    def add(self, seconds: float) -> tuple[Gangs, float] | None:
        """Add to the group that is decided now; return it with its sum, None if there is none."""
        gangs, sums = self._gangs(), self._seconds
        if gangs is None:
            return None
        sums[gangs] = sums.get(gangs, 0.0) + seconds
        return gangs, sums[gangs]

    def _gangs(self) -> Gangs | None:
        steps = self._steps
        group = None if steps is None else steps.deciding
        return None if group is None else tuple(gang.key for gang in group.gangs)
