"""How much the tests look at: as much as finds most faults at each change, or far more.

    GANG_TESTS=thorough .venv/bin/python -m pytest tests/property

`make test` takes the first, which is named `quick`, and `make thorough` the second.
"""

import os
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeVar

Case = TypeVar("Case")
VARIABLE: Final = "GANG_TESTS"


class Thoroughness(StrEnum):
    """How many cases tests draw."""

    QUICK = "quick"
    THOROUGH = "thorough"


def asked() -> Thoroughness:
    """Return what the environment asks for."""
    value = os.environ.get(VARIABLE, Thoroughness.QUICK)
    try:
        return Thoroughness(value)
    except ValueError:
        known = " or ".join(Thoroughness)
        raise ValueError(f"{VARIABLE} must be {known}, not {value!r}") from None


def some(given: Sequence[Case]) -> Sequence[Case]:
    """Return which cases of other tests a test looks at, too: each third one, or all."""
    return given if asked() is Thoroughness.THOROUGH else given[::3]


def cases(quick: int, *, thorough: int) -> int:
    """Return how many cases a test draws."""
    return thorough if asked() is Thoroughness.THOROUGH else quick
