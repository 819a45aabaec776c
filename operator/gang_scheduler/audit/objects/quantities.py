"""Quantities of Kubernetes, counted here on their own: what is judged must not do the counting.

Grammar and rounding are those of apimachinery's `resource.Quantity`; a test compares them with
`model.resources`, which this module does not know.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

Amounts = Mapping[str, int]
"""Resource to amount: thousandths of `cpu`, else bytes or a count."""

SUFFIXES: Final[Mapping[str, Decimal]] = {
    **{f"{letter}i": Decimal(2) ** (10 * power) for power, letter in enumerate("KMGTPE", start=1)},
    **{letter: Decimal(10) ** (3 * power) for power, letter in enumerate("kMGTPE", start=1)},
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
}
MOST: Final = Decimal(2**63 - 1)
"""The largest number of a quantity: an API server caps those that are larger."""


@lru_cache(maxsize=4096)
def amount(resource: str, text: str) -> int:
    """Return a quantity in the unit of its resource, rounded up; 0 for what is no quantity."""
    number, factor = text, Decimal(1)
    for length in (2, 1):
        suffix = text[-length:]
        if suffix in SUFFIXES:
            number, factor = text[:-length], factor * SUFFIXES[suffix]
            break
    try:
        # Cut off before anything is worked out with it: an exponent may have any length.
        whole = min(max(-MOST, min(Decimal(number), MOST)) * factor, MOST)
        units = min(whole * (1000 if resource == "cpu" else 1), MOST)
        return int(units.to_integral_value(ROUND_CEILING))
    except (InvalidOperation, ValueError, OverflowError):
        return 0


def amounts(listed: object) -> dict[str, int]:
    """Return the amounts of a ResourceList as it stands in an object."""
    if not isinstance(listed, Mapping):
        return {}
    return {str(name): amount(str(name), str(text)) for name, text in listed.items()}


def total(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sum of amounts."""
    found: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            found[name] = found.get(name, 0) + count
    return found


def largest(parts: Iterable[Amounts]) -> dict[str, int]:
    """Return the most that any part has of each resource."""
    found: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            found[name] = max(found.get(name, 0), count)
    return found


def shown(resource: str, count: int) -> str:
    """Return an amount as people write it: CPU in cores."""
    return f"{count / 1000:g}" if resource == "cpu" else str(count)
