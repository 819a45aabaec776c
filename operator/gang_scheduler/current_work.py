"""The current work of the main thread, for observation from another thread.

Recording the work costs next to nothing, and the record is read only when the main thread is held
up. The group that is being decided is not recorded here, but by the cycle itself (`Deciding`).
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
"""The CPU seconds after which a decision is cut: the first one in a cycle, and later ones.

The first limit is generous, so that most decisions end before it. Groups behind a cut decision have
waited long enough, so the second limit is short.
"""

_LAST: Final[dict[Work, str]] = {}


def note(work: Work, about: str) -> None:
    """Record that work of a kind begins now, and its subject."""
    _LAST[work] = about


def last(work: Work) -> str:
    """Return the subject of the last work of a kind; "" if none was recorded."""
    return _LAST.get(work, "")


class Deciding(Protocol):
    """A running cycle: `deciding` is the group that it decides now, None between groups."""

    deciding: GangGroup | None


class DecisionCutError(Exception):
    """A decision on one group took so long that it was cut: all others are decided without it."""


class DecisionTimes:
    """The durations of decisions on the groups of one cycle, sampled by another thread.

    The main thread begins and ends cycles; the other thread adds samples.
    """

    def __init__(self) -> None:
        self._steps: Deciding | None = None
        self._seconds: dict[Gangs, float] = {}
        self._cut: dict[Gangs, float] = {}

    def begin(self, steps: Deciding) -> None:
        """Observe a cycle from now on; it may be restarted."""
        self._steps = steps

    def end(self) -> Mapping[Gangs, float]:
        """Stop observing; return how many seconds the decision on each group took."""
        seconds, self._steps, self._seconds, self._cut = self._seconds, None, {}, {}
        return seconds

    def so_far(self) -> Mapping[Gangs, float]:
        """Return how many seconds each group has taken until now. Any thread may call it."""
        return dict(self._seconds)

    def is_too_long(self) -> bool:
        """Return whether the current decision must be cut. Any thread may call it.

        The first decision to be cut in a cycle may take longer than later ones.
        """
        gangs = self._gangs()
        if gangs is None:
            return False
        most = CUT_SECONDS if not self._cut else CUT_AGAIN_SECONDS
        # Do not add the same time twice: the last group stays recorded until another cycle begins.
        return self._seconds.get(gangs, 0.0) - self._cut.get(gangs, 0.0) >= most

    def cut(self) -> None:
        """Raise DecisionCutError if the current decision takes too long. For the main thread."""
        gangs = self._gangs()
        if gangs is not None and self.is_too_long():
            self._cut[gangs] = self._seconds[gangs]
            raise DecisionCutError(f"cut after {self._seconds[gangs]:.1f} s")

    def add(self, seconds: float) -> tuple[Gangs, float] | None:
        """Add seconds to the group being decided; return group and sum, None between groups."""
        gangs, sums = self._gangs(), self._seconds
        if gangs is None:
            return None
        sums[gangs] = sums.get(gangs, 0.0) + seconds
        return gangs, sums[gangs]

    def _gangs(self) -> Gangs | None:
        steps = self._steps
        group = None if steps is None else steps.deciding
        return None if group is None else group.keys
