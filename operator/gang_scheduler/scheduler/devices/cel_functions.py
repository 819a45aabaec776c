"""The functions that Kubernetes adds to CEL: on quantities, versions, lists and patterns.

A quantity is the map {"__q": billionths}, and a version {"__s": text}, so that two are equal in CEL
if they are equal here. Each function gives what its Go counterpart gives, or raises ValueError.
"""

import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from gang_scheduler.model import device_quantities as quantities
from gang_scheduler.model.device_quantities import NANO

QUANTITY: Final = "__q"
VERSION: Final = "__s"
Boxed = dict[str, Any]

_INT64: Final = range(-(2**63), 2**63)


def quantity(nanos: int) -> Boxed:
    """Return an amount in billionths as CEL has it."""
    return {QUANTITY: str(nanos)}


def _parsed_quantity(text: str) -> Boxed:
    return quantity(quantities.parse(text).nanos)


def _nanos(boxed: Boxed) -> int:
    try:
        return int(boxed[QUANTITY])
    except KeyError:
        raise ValueError("no such overload: this is not a quantity") from None


def _is_quantity(text: str) -> bool:
    try:
        quantities.parse(text)
    except ValueError:
        return False
    return True


def _as_integer(boxed: Boxed) -> int:
    whole, part = divmod(_nanos(boxed), NANO)
    if part or whole not in _INT64:
        raise ValueError("cannot convert value to integer")
    return whole


def _is_integer(boxed: Boxed) -> bool:
    whole, part = divmod(_nanos(boxed), NANO)
    return not part and whole in _INT64


def _sign(boxed: Boxed) -> int:
    return _compared(_nanos(boxed), 0)


# Versions, as semver 2.0.0 orders them: a build is no part of the order.

_NUMBER: Final = "0|[1-9][0-9]*"
_IDENTIFIER: Final = rf"(?:{_NUMBER}|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)"
_VERSION: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})"
    rf"(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_LARGEST: Final = 2**64 - 1
_LONGEST: Final = 256


class _Semver(NamedTuple):
    numbers: tuple[int, int, int]
    release: tuple[tuple[int, int, str], ...]
    """Identifiers of a pre-release: numbers before words. A release comes after all of them."""


def version(text: str) -> Boxed:
    """Return a version as CEL has it. Raises ValueError if the text is not a version."""
    match = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None or any(int(each) > _LARGEST for each in match.groups()[:3]):
        raise ValueError(f"{text!r} is not a semantic version")
    return {VERSION: ".".join(match.groups()[:3]) + (f"-{match[4]}" if match[4] else "")}


def _normalised(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for i, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[i] = stripped if stripped[:1].isdigit() else f"0{stripped}"
    if len(parts) < 3 and any(each in parts[-1] for each in "+-"):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    return ".".join([*parts, "0", "0"][:3])


def _version_of(text: str, normalise: bool) -> Boxed:  # noqa: FBT001 - as CEL calls it
    return version(_normalised(text) if normalise else text)


def _is_version(text: str, normalise: bool = False) -> bool:  # noqa: FBT001, FBT002 - as above
    try:
        _version_of(text, normalise)
    except ValueError:
        return False
    return True


@functools.lru_cache(1024)
def _semver(text: str) -> _Semver:
    numbers, _, release = text.partition("-")
    major, minor, patch = map(int, numbers.split("."))
    parts = release.split(".") if release else []
    # Numbers sort before words, and a version without a pre-release after all with one.
    ordered = tuple((0, int(each), "") if each.isdigit() else (1, 0, each) for each in parts)
    return _Semver((major, minor, patch), ordered or ((2, 0, ""),))


def _numbers(boxed: Boxed) -> tuple[int, int, int]:
    if VERSION not in boxed:
        raise ValueError("no such overload: this is not a version")
    return _semver(boxed[VERSION]).numbers


# Comparisons of both.


def _compared(left: Any, right: Any) -> int:  # noqa: ANN401 - of one type, whichever
    return int(left > right) - int(left < right)


def _compare(left: Boxed, right: Boxed) -> int:
    if VERSION in left and VERSION in right:
        return _compared(_semver(left[VERSION]), _semver(right[VERSION]))
    return _compared(_nanos(left), _nanos(right))


# Lists. Their items are of one type, which the type checker of CEL sees to where it can.


def _sum(items: Sequence[Any]) -> Any:  # noqa: ANN401 - of the type of the items
    return sum(items)


def _least(items: Sequence[Any]) -> Any:  # noqa: ANN401
    return _extreme(items, min, "min")


def _most(items: Sequence[Any]) -> Any:  # noqa: ANN401
    return _extreme(items, max, "max")


def _extreme(items: Sequence[Any], choose: Callable[[Sequence[Any]], Any], name: str) -> Any:  # noqa: ANN401
    if not items:
        raise ValueError(f"{name} called on empty list")
    return choose(items)


def _first_at(items: Sequence[Any], wanted: Any) -> int:  # noqa: ANN401
    return next((i for i, each in enumerate(items) if _equal(each, wanted)), -1)


def _last_at(items: Sequence[Any], wanted: Any) -> int:  # noqa: ANN401
    return next((i for i in reversed(range(len(items))) if _equal(items[i], wanted)), -1)


def _equal(left: object, right: object) -> bool:
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _is_sorted(items: Sequence[Any]) -> bool:
    return all(left <= right for left, right in itertools.pairwise(items))


def _contains(items: Sequence[Any], wanted: Sequence[Any]) -> bool:
    return all(_first_at(items, each) >= 0 for each in wanted)


def _equivalent(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return _contains(items, others) and _contains(others, items)


def _intersects(items: Sequence[Any], others: Sequence[Any]) -> bool:
    return any(_first_at(items, each) >= 0 for each in others)


# Searching by pattern. RE2 takes linear time for any pattern, Python does not: so repeated groups,
# and many repetitions in one pattern, are refused here. `matches` is CEL's own and takes all.

MOST_REPETITIONS: Final = 3
LONGEST_SEARCHED: Final = 256
_ESCAPED_OR_CLASS: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")


def _pattern(text: str, searched: str) -> re.Pattern[str]:
    bare = _ESCAPED_OR_CLASS.sub("x", text)
    repetitions = sum(bare.count(each) for each in "*+{")
    if re.search(r"\)[*+{]", bare) or repetitions > MOST_REPETITIONS or "(?" in bare:
        raise ValueError(
            f"find: the pattern {text[:64]!r} repeats a group, or has more than "
            f"{MOST_REPETITIONS} repetitions or an option; use matches"
        )
    if len(searched) > LONGEST_SEARCHED:
        raise ValueError(
            f"find: the text has {len(searched)} characters, and at most {LONGEST_SEARCHED} "
            "are searched"
        )
    try:
        return re.compile(text, re.ASCII)
    except re.error as error:
        raise ValueError(f"find: {error}") from None


def _find(searched: str, pattern: str) -> str:
    found = _pattern(pattern, searched).search(searched)
    return found[0] if found else ""


def _find_all(searched: str, pattern: str, most: int = -1) -> list[str]:
    found = [each[0] for each in _pattern(pattern, searched).finditer(searched)]
    return found if most < 0 else found[:most]


class Function(NamedTuple):
    """A function of CEL: how it is called, and the types of what it takes and gives."""

    name: str
    takes: tuple[str, ...]
    gives: str
    of: Callable[..., Any]
    is_member: bool = True


MAP, STRING, BOOL, INT, DOUBLE, LIST, DYN = "map", "string", "bool", "int", "double", "list", "dyn"

FUNCTIONS: Final = (
    Function("quantity", (STRING,), MAP, _parsed_quantity, is_member=False),
    Function("isQuantity", (STRING,), BOOL, _is_quantity, is_member=False),
    Function("asInteger", (MAP,), INT, _as_integer),
    Function("isInteger", (MAP,), BOOL, _is_integer),
    Function("asApproximateFloat", (MAP,), DOUBLE, lambda boxed: _nanos(boxed) / NANO),
    Function("sign", (MAP,), INT, _sign, is_member=False),
    Function("add", (MAP, MAP), MAP, lambda one, two: quantity(_nanos(one) + _nanos(two))),
    Function("add", (MAP, INT), MAP, lambda one, two: quantity(_nanos(one) + two * NANO)),
    Function("sub", (MAP, MAP), MAP, lambda one, two: quantity(_nanos(one) - _nanos(two))),
    Function("sub", (MAP, INT), MAP, lambda one, two: quantity(_nanos(one) - two * NANO)),
    Function("compareTo", (MAP, MAP), INT, _compare),
    Function("isGreaterThan", (MAP, MAP), BOOL, lambda one, two: _compare(one, two) > 0),
    Function("isLessThan", (MAP, MAP), BOOL, lambda one, two: _compare(one, two) < 0),
    Function("semver", (STRING,), MAP, version, is_member=False),
    Function("semver", (STRING, BOOL), MAP, _version_of, is_member=False),
    Function("isSemver", (STRING,), BOOL, _is_version, is_member=False),
    Function("isSemver", (STRING, BOOL), BOOL, _is_version, is_member=False),
    Function("major", (MAP,), INT, lambda boxed: _numbers(boxed)[0]),
    Function("minor", (MAP,), INT, lambda boxed: _numbers(boxed)[1]),
    Function("patch", (MAP,), INT, lambda boxed: _numbers(boxed)[2]),
    Function("sum", (LIST,), DYN, _sum),
    Function("min", (LIST,), DYN, _least),
    Function("max", (LIST,), DYN, _most),
    Function("isSorted", (LIST,), BOOL, _is_sorted),
    Function("sets.contains", (LIST, LIST), BOOL, _contains, is_member=False),
    Function("sets.equivalent", (LIST, LIST), BOOL, _equivalent, is_member=False),
    Function("sets.intersects", (LIST, LIST), BOOL, _intersects, is_member=False),
    Function("find", (STRING, STRING), STRING, _find),
    Function("findAll", (STRING, STRING), LIST, _find_all),
    Function("findAll", (STRING, STRING, INT), LIST, _find_all),
)
"""All functions. Functions of the same name differ in the types of their arguments."""

OF_LISTS: Final = tuple(
    Function(name, (LIST, kind), INT, of)
    for name, of in (("indexOf", _first_at), ("lastIndexOf", _last_at))
    # At run time CEL finds no function whose parameter is of any type.
    for kind in (INT, STRING, BOOL, DOUBLE, MAP)
)
"""Functions whose names the extension for strings has, too: CEL declares a name once."""
