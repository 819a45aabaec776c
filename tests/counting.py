"""How much is done, counted so that it is the same on every machine."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

Calls = Counter[str]
"""How often each Python function was entered, by its module and name. A generator is entered for
each thing that it yields."""


def calls_of(work: Callable[[], object]) -> Calls:
    """Return what a piece of work calls."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    named: Calls = Counter()
    for (path, name), number in calls.items():
        named[f"{Path(path).stem}.{name}"] += number
    return named


def at_most(bound: float, calls: Calls) -> None:
    """Fail if there are more calls than that, and say which functions most of them are of."""
    most = ", ".join(f"{number} {name}" for name, number in calls.most_common(8))
    assert calls.total() <= bound, f"{calls.total()} calls instead of {bound:g}: {most}"
