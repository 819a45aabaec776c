"""How much CPU a piece of work takes, in units that are alike on every machine.

Calls of functions say nothing of a slow loop in C, such as a regular expression that reads a text
again and again. So the CPU is measured, and compared with that of a loop on the same machine at the
same time. Other processes take none of it; caches and clocks that are shared are left out by
bounds that are far above what is measured.
"""

import time
from collections.abc import Callable
from typing import Final

LOOP: Final = range(20_000)
ATTEMPTS: Final = 3
"""As often work is done that seems to take too much: the least counts."""


def units(work: Callable[[], object]) -> float:
    """Return the CPU of a piece of work; one is that of a short loop, about a millisecond."""
    spent = _seconds(work)
    return spent / min(_seconds(_loop) for _ in range(ATTEMPTS))


def at_most(bound: float, work: Callable[[], object], about: str = "") -> None:
    """Fail if a piece of work that can be repeated takes more units than that each time."""
    spent = [units(work)]
    while spent[-1] > bound and len(spent) < ATTEMPTS:
        spent.append(units(work))
    least = min(spent)
    assert least <= bound, f"{least:.0f} ms of CPU instead of {bound:g}: {about}"


def _seconds(work: Callable[[], object]) -> float:
    begun = time.thread_time()
    work()
    return time.thread_time() - begun


def _loop() -> int:
    found = 0
    for each in LOOP:
        found += each
    return found
