"""Which fault comes when, drawn from a seed, and the storm itself.

The schedule is the same for the same seed, time and faults; what it strikes is what is there then.
"""

import heapq
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tools.chaos.faults import Fault
from tools.chaos.site import Site

PAUSE_SECONDS = (0.5, 9.0)
"""Between the begin of one fault and that of the next."""


@dataclass(frozen=True)
class Planned:
    """A fault that begins and ends so many seconds after the begin of the storm."""

    at: float
    until: float
    fault: type[Fault]
    seed: int


@dataclass(frozen=True)
class Struck:
    """A fault that was: when it began and was over, on the monotonic clock, and what it met."""

    name: str
    began_at: float
    ended_at: float
    struck: bool
    detail: str


def schedule(seed: int, seconds: float, faults: Sequence[type[Fault]]) -> list[Planned]:
    """Return the faults of a storm, in order; no two at once that take the same."""
    dice = random.Random(f"storm {seed}")  # noqa: S311 - chaos keeps no secret.
    taken: dict[str, float] = {}
    planned, now = [], dice.uniform(*PAUSE_SECONDS)
    while now < seconds:
        free = [each for each in faults if all(taken.get(e, 0.0) <= now for e in each.takes)]
        if free:
            fault = dice.choices(free, weights=[each.weight for each in free])[0]
            until = now + dice.uniform(*fault.seconds)
            planned.append(Planned(now, until, fault, dice.getrandbits(32)))
            taken.update(dict.fromkeys(fault.takes, until + fault.rest_seconds))
        now += dice.uniform(*PAUSE_SECONDS)
    return planned


def rage(site: Site, planned: Sequence[Planned]) -> list[Struck]:
    """Let all faults come and go, in time where that can be, and return what they were.

    In the order of times: one that takes long to begin or to end delays all others.
    """
    begun = time.monotonic()
    due = [(each.at, number, False) for number, each in enumerate(planned)]
    heapq.heapify(due)
    live: dict[int, tuple[Fault, float]] = {}
    struck = []
    while due:
        at, number, is_end = heapq.heappop(due)
        time.sleep(max(0.0, begun + at - time.monotonic()))
        if is_end:
            fault, began_at = live.pop(number)
            fault.end()
            struck.append(
                Struck(fault.name, began_at, time.monotonic(), fault.struck, fault.detail)
            )
            what = fault.detail or "over"
            site.say(f"  end    {fault.name}: {what if fault.struck else 'met nothing'}")
        else:
            each = planned[number]
            fault = each.fault(site, each.seed)
            live[number] = fault, time.monotonic()
            site.say(f"begin    {fault.name}")
            fault.begin()
            heapq.heappush(due, (each.until, number, True))
    return struck
