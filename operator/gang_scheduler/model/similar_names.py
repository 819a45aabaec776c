"""Similar names: the known name that a misspelt one may mean, as a cheap hint for people.

difflib takes a third of a millisecond for two names of 63 letters, and users choose the names. So
it only gets a few candidates: the known names that share most letters with the given one, in the
same order. Counting these takes one integer operation for each letter, and the number of letters is
bounded.
"""

import difflib  # noqa: TID251 - used for few names here, and nowhere else.
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from gang_scheduler.model import api_words
from gang_scheduler.model.wording import field

LONGEST: Final = 317
"""The longest name that is searched: the key of a label has as many letters."""
MOST_LETTERS: Final = 1 << 15
"""The most letters of known names that one search reads, names of similar length first."""
COMPARED: Final = 8
"""At most this many names are compared by difflib."""
_CLOSE_TO_PODSET: Final = 0.95
"""How similar a whole field must be, from 0 to 1: Kueue may add keys with this prefix later."""


def close_to(
    name: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6
) -> Sequence[str]:
    """Return the most similar names, best first, as difflib.get_close_matches does.

    The cost is bounded: names beyond the bounds are not found.
    """
    if not name or len(name) > LONGEST:
        return ()
    near = [each for each in known if _may_be(len(each), len(name), 2 * len(name), cutoff)]
    if len(near) > COMPARED:
        near = _most_alike(name, near, cutoff)
    return difflib.get_close_matches(name, near, n=most, cutoff=cutoff)


def near_podset(where: str) -> str:
    """Return Kueue's annotation whose field name is similar to an unknown one; "" without one."""
    known = {field(key): key for key in api_words.PODSET_KEYS}
    near = close_to(where, known, cutoff=_CLOSE_TO_PODSET)
    return known[near[0]] if near else ""


def alike_in_part(
    name: str, known: Iterable[str], part: Callable[[str], str], *, cutoff: float
) -> Iterator[str]:
    """Yield names that are similar as a whole, and also in the part that distinguishes them."""
    own = part(name)
    for each in close_to(name, known, most=COMPARED, cutoff=cutoff):
        other = part(each)
        if own == other or close_to(own, [other], cutoff=cutoff):
            yield each


def _most_alike(name: str, near: Iterable[str], cutoff: float) -> list[str]:
    """Return the names that share most letters with a name, as far as they can be close enough."""
    masks: defaultdict[str, int] = defaultdict(int)
    for place, letter in enumerate(name):
        masks[letter] |= 1 << place
    whole, length, left = (1 << len(name)) - 1, len(name), MOST_LETTERS
    found = []
    for each in sorted(near, key=lambda other: (abs(len(other) - length), other)):
        left -= len(each)
        if left < 0:
            break
        common = _in_common(masks, whole, each)
        if _may_be(len(each), length, 2 * common, cutoff):
            found.append((common / (len(each) + length), each))
    return [each for _, each in sorted(found, reverse=True)[:COMPARED]]


def _in_common(masks: defaultdict[str, int], whole: int, other: str) -> int:
    """Return the length of the longest common subsequence (Hyyroe 2004, one bit a letter)."""
    row = whole
    for letter in other:
        matched = row & masks[letter] if letter in masks else 0
        row = (row + matched) | (row - matched)
    return (~row & whole).bit_count()


def _may_be(one: int, other: int, twice_common: int, cutoff: float) -> bool:
    """Return whether names of these lengths with so much in common can be close enough."""
    return 0 < one <= LONGEST and min(twice_common, 2 * one) >= cutoff * (one + other)
