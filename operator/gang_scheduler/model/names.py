"""Natural order of names: node-9 before node-10, then bytewise."""

import functools
import re

_DIGITS = re.compile(r"([0-9]+)")

Number = tuple[int, str]
"""How long a number is without zeros in front, and its digits: the order is that of numbers."""

NaturalKey = tuple[tuple[str | Number, ...], str]


def natural_key(name: str) -> NaturalKey:
    """Return a sort key that compares runs of digits as numbers; ties compare bytewise.

    `re.split` with a group puts text at even and digits at odd places, so that two keys
    always compare like with like.
    """
    parts: list[str | Number] = [*_DIGITS.split(name)]
    parts[1::2] = map(_number, parts[1::2])
    return tuple(parts), name


@functools.lru_cache(maxsize=65_536)
def _number(digits: str) -> Number:
    # Python reads no number of more than 4300 digits, and a name may have as many.
    significant = digits.lstrip("0")
    return len(significant), significant
