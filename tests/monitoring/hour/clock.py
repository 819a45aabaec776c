"""The clock of the scripted hour: that of its event loop, which jumps over idle time."""

import asyncio
import time
from types import ModuleType
from typing import Final

BEGAN_AT: Final = 1_760_004_000
"""When the hour begins, in seconds since the epoch: with one of the blocks of Prometheus."""
MINUTE: Final = 60
LEADS_AT, DIES_AT, ENDS_AT = 2, 66, 70
"""In which minutes the operator begins to lead, and is killed, and the hour is over."""
CYCLE_SECONDS: Final = 0.02
"""How long each cycle takes."""


class Clock:
    """Has what the operator asks the module `time` for. Work takes no time, only waiting does."""

    def time(self) -> float:
        """Return the time in seconds since the epoch."""
        try:
            return BEGAN_AT + asyncio.get_running_loop().time()
        except RuntimeError:
            return BEGAN_AT

    perf_counter = monotonic = time

    def thread_time(self) -> float:
        """Return how much CPU time a thread has had: none."""
        return 0.0


class ClockOfCycles(Clock):
    """On which CYCLE_SECONDS pass from one look to the next: between the two looks of a cycle."""

    def __init__(self) -> None:
        self._looks = 0

    def perf_counter(self) -> float:
        """Return the time in seconds."""
        self._looks += 1
        return self.time() + self._looks * CYCLE_SECONDS


def fake() -> None:
    """Let every module that is imported from now on take the time from the hour."""
    time.time = Clock().time


def hand_to(module: ModuleType, clock: Clock) -> None:
    """Let a module see this clock in place of the module `time`."""
    module.time = clock  # type: ignore[attr-defined]


async def until(minute: float) -> None:
    """Return one second after a minute of the hour: between two scrapes."""
    await asyncio.sleep(max(0.0, minute * MINUTE + 1 - asyncio.get_running_loop().time()))
