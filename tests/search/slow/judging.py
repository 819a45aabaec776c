"""How slow a world is: CPU of the phases of its cycles, and of the slowest handler of an object."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final, NamedTuple

import numpy as np

from gang_scheduler.simulation.documents import Document
from search.slow import rendering
from search.slow.recipes import Recipe
from tools.bench import cycles
from tools.bench.cycles import Measured, Profiles

CYCLES: Final = 3
HANDLER: Final = 20
"""A handler counts as this many times as long: its bound is 50 ms, and that of a cycle a second."""
PHASES: Final = ("prepare", "snapshot", "schedule", "take_in", "objects")
OVERTIME: Final = 30.0
"""After so many seconds of CPU the phase in hand is cut off, and counts as so many.

They are those of this machine when it is quiet, as all seconds of a verdict.
"""


class Verdict(NamedTuple):
    """The slowest phase of a world, and its seconds of CPU on this machine when it is quiet."""

    phase: str
    seconds: float


class _OvertimeError(Exception):
    """A world takes too long."""


class Pace:
    """How fast the machine is now, beside when it is quiet: others may use it, too.

    `reference` is the CPU of a sample when it is quiet, in seconds; without it, that of the fastest
    sample until now, which is too much on a machine that is under load all the time.
    """

    def __init__(self, reference: float = 0) -> None:
        self._is_given = reference > 0
        self.best = reference or min(_sample() for _ in range(5))

    def now(self) -> float:
        """Return by what seconds of CPU are to be multiplied: 1 at most."""
        found = min(_sample() for _ in range(3))
        if not self._is_given:
            self.best = min(self.best, found)
        # A sample may seem to take next to nothing, for the reason that `_sample` has.
        return min(1.0, self.best / found)


def _sample() -> float:
    """Return the CPU of some work such as cycles do."""
    # On a machine under load the clock of some kernels stands still for milliseconds.
    while not (seconds := _seconds_of_work()):
        pass
    return seconds


def _seconds_of_work() -> float:
    began = time.process_time()
    column = np.arange(5_000)
    for number in range(150):
        table = {each: str(each) for each in range(50)}
        column = np.where(column > number, column - len(table) // 50, column)
        column[np.argsort(column, kind="stable")[:10]] += 1
    return time.process_time() - began


def judge(recipe: Recipe, pace: Pace, profiles: Profiles | None = None) -> Verdict:
    """Return the slowest phase of a world."""
    bodies = rendering.manifests_of(recipe)
    documents = [Document("world", number, body) for number, body in enumerate(bodies, start=1)]
    measured, before = Measured(), pace.now()
    try:
        with _at_most(OVERTIME / before):
            cycles.measure(documents, CYCLES, profiles, measured=measured)
    except _OvertimeError:
        return Verdict(measured.phase, OVERTIME)
    return _slowest(measured, (before + pace.now()) / 2)


def _slowest(measured: Measured, pace: float) -> Verdict:
    """Return the phase that is most of the dearest cycle, or the handler, if that is worse."""
    dearest = max(measured.cycles, key=lambda each: each.seconds)
    phase = max(PHASES[:-1], key=lambda each: float(getattr(dearest, each)))
    handled = measured.typical_slowest * HANDLER
    if handled > dearest.seconds:
        return Verdict("objects", handled * pace)
    return Verdict(phase, dearest.seconds * pace)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise once so many seconds of CPU have passed."""

    def over(_number: int, _frame: FrameType | None) -> None:
        raise _OvertimeError

    before = signal.signal(signal.SIGPROF, over)
    # Python ignores what is raised in a callback of a weak reference, so it is raised again.
    signal.setitimer(signal.ITIMER_PROF, seconds, OVERTIME / 6)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
