"""Texts of causes, and short forms: node ranges, shortened names, members of other schedulers."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from gang_scheduler.api.parsing import message
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause
from gang_scheduler.model.refs import natural_key


def text_of(cause: Cause) -> str:
    """Return the words that people read about a cause."""
    return message(cause.text())


def text_if_any(cause: Cause | None) -> str:
    """Return the words that people read about a cause; "" if there is no cause."""
    return text_of(cause) if cause is not None else ""


# Names of nodes in short: `node-[0-7,9],gpu-a`.

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_HOST: Final = re.compile(r"[^.]*[^.0-9][^.]*")
"""The first part of a name with a domain. IP addresses do not match."""


def folded(names: Iterable[str]) -> str:
    """Return names in natural order; names that differ in one number become a range.

    The number is the last one in a name, before its domain. Leading zeros are kept.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for name in sorted(set(names), key=natural_key):
        host, domain = _parted(name)
        found = _NUMBERED.fullmatch(host)
        shape = (found[1], found[3] + domain) if found else (name, "")
        alike.setdefault(shape, []).append(found[2] if found else "")
    return ",".join(_folded(*shape, numbers) for shape, numbers in alike.items())


def without_domain(names: Iterable[str]) -> list[str]:
    """Return host names without their domain if all share it; else the names unchanged."""
    names = list(names)
    parts = [_parted(name) for name in names]
    return [host for host, _ in parts] if len({domain for _, domain in parts}) == 1 else names


def _parted(name: str) -> tuple[str, str]:
    """Return the host of a name, and its domain with the leading dot."""
    host, dot, domain = name.partition(".")
    return (host, dot + domain) if _HOST.fullmatch(host) else (name, "")


def _folded(before: str, after: str, numbers: Sequence[str]) -> str:
    if len(numbers) == 1:
        return f"{before}{numbers[0]}{after}"
    return f"{before}[{','.join(map(_written, _runs(numbers)))}]{after}"


def _runs(numbers: Sequence[str]) -> list[list[str]]:
    """Return numbers, in their order, as runs without a gap."""
    runs: list[list[str]] = []
    for number in sorted(numbers, key=int):
        if runs and _follows(runs[-1][-1], number):
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _follows(before: str, number: str) -> bool:
    is_padded = _width(before) or _width(number)
    return int(number) == int(before) + 1 and (len(before) == len(number) or not is_padded)


def _width(number: str) -> int:
    """Return the number of digits of a number with leading zeros; 0 for other numbers."""
    return len(number) if number[0] == "0" and len(number) > 1 else 0


def _written(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"


# Members that another scheduler must place: its name, and our own names.


def foreign_members(pods: Iterable[Pod], schedulers: Collection[str]) -> str:
    """Return how many members have which schedulerName, and our own names."""
    counts = Counter(pod.scheduler or "none" for pod in pods)
    have = ((n, name, "has" if n == 1 else "have") for name, n in counts.items())
    said = [f"{n} of its pods {has} schedulerName {name}" for n, name, has in have]
    return f"{' and '.join(said)}; {ours(schedulers)}"


def ours(schedulers: Collection[str]) -> str:
    """Return the schedulerNames that are ours."""
    are = "is" if len(schedulers) == 1 else "are"
    return f"ours {are} {' and '.join(sorted(schedulers))}"


# A name that is too long for its place is shortened so that it stays distinguishable.

CUT: Final = "..."


def shortened(text: str, most: int) -> str:
    """Return a text shortened to `most` characters; its beginning and its end are kept.

    Leading spaces stay: they show the depth in a tree.
    """
    if len(text) <= most:
        return text
    kept = max(most - len(CUT), 2)
    return f"{text[: kept - kept // 2]}{CUT}{text[-(kept // 2) :]}"
