"""Pseudonyms of numbers that identify something: addresses, and numbers of many digits.

Such a number is also found in names, as in `ip-10-0-3-7`. All others stay, as the 7 of `llama-7`.
A pseudonym is as long as the number, and of two numbers the smaller one has the smaller one,
whether digits are compared or values: names keep their order.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

_OCTET: Final = "[0-9]{1,3}"
TELLING: Final = re.compile(
    rf"(?<![0-9])(?:{_OCTET}(?P<sign>[.-]){_OCTET}(?P=sign){_OCTET}(?P=sign){_OCTET}|[0-9]{{7,}})"
    r"(?![0-9])"
)
AMOUNT: Final = re.compile(r"[+-]?[0-9]*\.?[0-9]*(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
"""Amounts stay, however large: quotas and requests are compared with each other."""


def of(text: str) -> Iterator[str]:
    """Yield the numbers of a text that are not to be told."""
    if not AMOUNT.fullmatch(text):
        yield from (each[0] for each in TELLING.finditer(text))


def pseudonyms(numbers: Iterable[str]) -> dict[str, str]:
    """Return the pseudonym of each number."""
    present = set(numbers)
    following: dict[str, set[str]] = {}
    for number in present:
        for place, sign in enumerate(number):
            following.setdefault(number[:place], set()).add(sign)
    return {each: "".join(_signs(each, following)) for each in present}


def renamed(text: str, by: dict[str, str]) -> str:
    """Return a text with the pseudonyms of its numbers."""
    return text if AMOUNT.fullmatch(text) else TELLING.sub(lambda match: by[match[0]], text)


def _signs(number: str, following: dict[str, set[str]]) -> Iterator[str]:
    """Yield each digit by its place among those that follow the same beginning; zero stays."""
    is_leading = True
    for place, sign in enumerate(number):
        if not sign.isdigit():
            is_leading = True
            yield sign
            continue
        beside = sorted(each for each in following[number[:place]] if each.isdigit())
        # A number that does not begin with zero must not become one that does.
        least = int(is_leading and beside[0] != "0")
        is_leading = is_leading and sign == "0"
        yield str(beside.index(sign) + least)
