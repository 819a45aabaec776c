"""Natural order of names: node-9 before node-10, then bytewise."""

import re

_DIGITS = re.compile(r"(\d+)")

NaturalKey = tuple[tuple[str | int, ...], str]


def natural_key(name: str) -> NaturalKey:
    """Return a sort key that compares runs of digits as numbers; equal ones compare bytewise.

    `re.split` with a group puts text at even and digits at odd places, so that two keys
    always compare like with like.
    """
    parts = _DIGITS.split(name)
    return tuple(int(part) if i % 2 else part for i, part in enumerate(parts)), name
