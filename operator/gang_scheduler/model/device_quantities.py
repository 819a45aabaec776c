"""Quantities of devices: exact amounts of any size, written as Kubernetes writes them.

`model.resources` rounds to whole units and stops at 2^50. Capacities and counters of devices are
compared exactly, so they are integers in billionths, the smallest part that Kubernetes stores.
"""

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

NANO: Final = 10**9
"""Billionths in one unit."""
LONGEST: Final = 64
"""A quantity has at most this many characters: 2^63 in billionths has 29."""
MOST: Final = (2**63 - 1) * NANO
"""The largest amount: apimachinery caps larger ones."""
_MOST_ZEROS: Final = 64


class Notation(enum.StrEnum):
    """How an amount is written."""

    DECIMAL = "decimal"
    BINARY = "binary"
    EXPONENT = "exponent"


_WRITTEN: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<binary>[KMGTPE]i)|(?P<decimal>[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_BINARY: Final = {
    suffix: 1024**i for i, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}
_DECIMAL: Final = {
    suffix: 3 * i for i, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
}


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An amount in billionths. Equal amounts are equal in any notation."""

    nanos: int
    notation: Notation = field(default=Notation.DECIMAL, compare=False)

    def __str__(self) -> str:
        """Return the amount as Kubernetes writes it, with the largest suffix that keeps it."""
        if self.notation is Notation.BINARY and self.nanos % NANO == 0:
            whole = self.nanos // NANO
            # Below 1,024 Kubernetes writes a decimal suffix, which no such number has.
            for suffix, factor in reversed(_BINARY.items()):
                if whole and whole % factor == 0:
                    return f"{whole // factor}{suffix}"
            return str(whole)
        digits, zeros = self.nanos, -9
        while digits and digits % 1000 == 0 and zeros < 18:
            digits //= 1000
            zeros += 3
        if not digits:
            return "0"
        if self.notation is Notation.EXPONENT:
            return f"{digits}e{zeros}" if zeros else str(digits)
        return f"{digits}{next(each for each, power in _DECIMAL.items() if power == zeros)}"


def parse(text: object) -> Quantity:
    """Return a quantity as JSON has it. Raises ValueError if it is not a Kubernetes quantity.

    As in apimachinery, a part smaller than a billionth is rounded up, away from zero.
    """
    written = "" if isinstance(text, bool) or text is None else str(text)
    match = _WRITTEN.fullmatch(written) if len(written) <= LONGEST else None
    if match is None or not (match["whole"] or match["part"]):
        raise ValueError(f"{text!r} is not a quantity")
    part = match["part"] or ""
    number = int(match["whole"] + part)
    # The amount in billionths is `number * factor * 10 ** zeros`.
    factor, zeros, notation = 1, 9 - len(part), Notation.DECIMAL
    if match["binary"]:
        factor, notation = _BINARY[match["binary"]], Notation.BINARY
    elif match["decimal"]:
        zeros += _DECIMAL[match["decimal"]]
    elif match["exponent"]:
        zeros += max(-2 * _MOST_ZEROS, min(int(match["exponent"]), 2 * _MOST_ZEROS))
        notation = Notation.EXPONENT
    # Division rounds down, so twice negated it rounds up.
    more, less = 10 ** max(zeros, 0), 10 ** max(-zeros, 0)
    nanos = min(-(-number * factor * more // less), MOST)
    return Quantity(-nanos if match["sign"] == "-" else nanos, notation)


Amounts = Mapping[str, Quantity]
"""Amounts by the name of a capacity or counter."""


def nanos_of(amounts: Amounts) -> Iterator[tuple[str, int]]:
    """Yield names and amounts in billionths."""
    for name, amount in amounts.items():
        yield name, amount.nanos
