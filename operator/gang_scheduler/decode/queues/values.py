"""Single values of queues. Each raises InvalidField that names the field and the value."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from typing import Any, Final, TypeVar

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.model import resources
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.wire.quantities import Quantity

E = TypeVar("E", bound=StrEnum)

_MILLIONTHS: Final = 10**6
_DURATION: Final = re.compile(r"([0-9.]+)(ms|s|m|h)")
_SECONDS: Final = {
    "ms": Fraction(1, 1000),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}


def amount(where: str, resource: str, quantity: Quantity) -> int:
    """Return the amount of a resource."""
    try:
        found = resources.amount_of(resource, quantity)
    except ValueError as error:
        raise InvalidField(where, quantity, "must be a quantity") from error
    if found < 0:
        raise InvalidField(where, quantity, "must not be negative")
    return min(found, resources.MOST_QUOTA)


def amounts(where: str, quantities: Mapping[str, Any] | None) -> dict[str, int]:
    """Return the amounts of several resources."""
    given = (quantities or {}).items()
    return {name: amount(f"{where}.{name}", name, quantity) for name, quantity in given}


def seconds(duration: str | None) -> int:
    """Return a duration such as `1h30m` in seconds, rounded up; 0 for none."""
    parts = _DURATION.findall(duration or "")
    return -int(-sum(Fraction(number) * _SECONDS[unit] for number, unit in parts) // 1)


def weight(where: str, quantity: Quantity) -> Fraction:
    """Return a weight; one that is negative makes no sense, and can be read."""
    try:
        return Fraction(resources.parse_quantity(quantity, _MILLIONTHS), _MILLIONTHS)
    except ValueError as error:
        raise InvalidField(where, quantity, "must be a number") from error


def choice(where: str, text: str, allowed: Iterable[E], default: E) -> E:
    """Return one of these words; the default for an empty text."""
    if not text:
        return default
    known = list(allowed)
    found = next((each for each in known if each.value == text), None)
    if found is None:
        raise InvalidField(where, text, f"must be one of {', '.join(known)}")
    return found


def check_weight(where: str, found: Fraction) -> None:
    """Raise InvalidField for a weight below 0."""
    if found < 0:
        raise InvalidField(where, float(found), "must not be negative")


def problem(error: InvalidField) -> Problem:
    """Return what is wrong with a queue."""
    return Problem(Reason.INVALID_SPEC, InvalidInput(str(error)))
