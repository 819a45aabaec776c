"""Names of nodes in short: `node-[0-7,9],gpu-a`."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from gang_scheduler.model.names import natural_key

_NUMBERED: Final = re.compile(r"(.*?)([0-9]+)([^0-9]*)", re.DOTALL)
_HOST: Final = re.compile(r"[^.]*[^.0-9][^.]*")
"""The first part of a name with a domain; an address has none."""


def folded(names: Iterable[str]) -> str:
    """Return names in natural order, those that differ in one number as ranges of it.

    The number is the last one in a name, without its domain; such with leading zeros keep these.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for name in sorted(set(names), key=natural_key):
        host, domain = _parted(name)
        found = _NUMBERED.fullmatch(host)
        shape = (found[1], found[3] + domain) if found else (name, "")
        alike.setdefault(shape, []).append(found[2] if found else "")
    return ",".join(_folded(*shape, numbers) for shape, numbers in alike.items())


def without_domain(names: Iterable[str]) -> list[str]:
    """Return the names of hosts, if all of them are in one domain; else the names as they are."""
    names = list(names)
    parts = [_parted(name) for name in names]
    return [host for host, _ in parts] if len({domain for _, domain in parts}) == 1 else names


def _parted(name: str) -> tuple[str, str]:
    """Return the host of a name, and its domain with the dot."""
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
    """Return how many digits a number has that has leading zeros; 0 for one that has none."""
    return len(number) if number[0] == "0" and len(number) > 1 else 0


def _written(run: Sequence[str]) -> str:
    return run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}"
