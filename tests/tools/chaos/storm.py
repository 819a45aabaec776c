"""Which fault comes when, drawn from a seed, and the storm itself.

The schedule is the same for the same seed, time and faults; what it strikes is what is there then.
"""

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from tools.chaos.faults import Fault
from tools.chaos.site import Site

PAUSE_SECONDS = (0.5, 9.0)
"""Between the begin of one fault and that of the next."""
LATE_SECONDS = 10.0
AT_ONCE = 32


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
    came = Counter[type[Fault]]()
    planned, now = [], dice.uniform(*PAUSE_SECONDS)
    while now < seconds:
        free = [each for each in faults if all(taken.get(e, 0.0) <= now for e in each.takes)]
        if free:
            # The more often one has come, the less likely it is: all come.
            weights = [each.weight / (1 + came[each]) for each in free]
            fault = dice.choices(free, weights)[0]
            came[fault] += 1
            until = now + dice.uniform(*fault.seconds)
            planned.append(Planned(now, until, fault, dice.getrandbits(32)))
            taken.update(dict.fromkeys(fault.takes, until + fault.rest_seconds))
        now += dice.uniform(*PAUSE_SECONDS)
    return planned


def rage(site: Site, planned: Sequence[Planned]) -> list[Struck]:
    """Let all faults come and go, in time where that can be, and return what they were.

    A fault that takes longer than planned delays only those that take the same; one that it delays
    for too long does not come.
    """
    begun = time.monotonic()
    locks = {each: threading.Lock() for one in planned for each in one.fault.takes}
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        coming = []
        for each in planned:
            time.sleep(max(0.0, begun + each.at - time.monotonic()))
            coming.append(pool.submit(_strike, site, each, locks))
        return [each.result() for each in coming]


def _strike(site: Site, planned: Planned, locks: Mapping[str, threading.Lock]) -> Struck:
    """Let one fault come and go."""
    fault, began_at = planned.fault(site, planned.seed), time.monotonic()
    with _held([locks[each] for each in sorted(fault.takes)]) as is_free:
        if not is_free:
            return Struck(fault.name, began_at, began_at, struck=False, detail="too late")
        site.say(f"begin    {fault.name}")
        began_at = time.monotonic()
        fault.begin()
        time.sleep(max(0.0, began_at + planned.until - planned.at - time.monotonic()))
        fault.end()
        what = fault.detail or "over"
        site.say(f"  end    {fault.name}: {what if fault.struck else 'met nothing'}")
        return Struck(fault.name, began_at, time.monotonic(), fault.struck, fault.detail)


@contextlib.contextmanager
def _held(locks: Sequence[threading.Lock]) -> Iterator[bool]:
    """Hold all locks; False if one of them does not get free in time."""
    with contextlib.ExitStack() as stack:
        for each in locks:
            if not each.acquire(timeout=LATE_SECONDS):
                yield False
                return
            stack.callback(each.release)
        yield True
