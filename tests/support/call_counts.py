"""How much is done, counted so that it is the same on every machine."""

import functools
import gc
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType

import gang_scheduler

PACKAGE = Path(gang_scheduler.__file__).parent


class Calls(Counter[str]):
    """How often each Python function was entered, by its module and name.

    A generator is entered for each thing that it yields. Asked for a function that the package does
    not have, it raises LookupError: after a rename, zero calls would prove nothing.
    """

    def __missing__(self, name: str) -> int:
        if name not in _functions(name.partition(".")[0]):
            raise LookupError(f"gang_scheduler has no function {name}")
        return 0


def calls_of(work: Callable[[], object]) -> Calls:
    """Return what a piece of work calls."""
    calls: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            calls[frame.f_code.co_filename, frame.f_code.co_qualname] += 1

    # What other tests left behind would be collected here, and its finalizers counted.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    named = Calls()
    for (path, name), number in calls.items():
        named.update({f"{Path(path).stem}.{name}": number})
    return named


def at_most(bound: float, calls: Calls) -> None:
    """Fail if there are more calls than that, and say which functions most of them are of."""
    most = ", ".join(f"{number} {name}" for name, number in calls.most_common(8))
    assert calls.total() <= bound, f"{calls.total()} calls instead of {bound:g}: {most}"


@functools.cache
def _functions(stem: str) -> frozenset[str]:
    """Return the functions of the modules of this name, wherever in the package they are."""
    paths = PACKAGE.rglob(f"{stem}.py")
    sources = (compile(path.read_bytes(), path, "exec", dont_inherit=True) for path in paths)
    return frozenset(f"{stem}.{name}" for source in sources for name in _defined_in(source))


def _defined_in(code: CodeType) -> Iterator[str]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each.co_qualname
            yield from _defined_in(each)
