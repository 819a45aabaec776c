"""Pseudonyms of words, in the order of the words, between other words that stay.

Names are compared letter by letter, and numbers in them as numbers. So a name keeps its place among
all names if its words are replaced in the same order, and its digits and signs stay.
"""

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Final

WORD: Final = re.compile(r"(?:[^\x00-@_]|(?<!_)_(?!_))+")
"""A run of letters, and of signs that sort like them: before A come only digits and other signs.

Two `_` separate the zones of a volume, which are single labels on nodes.
"""
LEAST_WIDTH: Final = 2


def words_of(text: str) -> list[str]:
    """Return the words of a text."""
    return WORD.findall(text)


def word_pseudonyms(words: Iterable[str], kept: Collection[str]) -> dict[str, str]:
    """Return the pseudonym of each word. Pseudonyms sort as the words do.

    A word that is `kept` is its own pseudonym. Raises ValueError if two kept words leave no room
    for the words between them.
    """
    found: dict[str, str] = {}
    present = sorted(set(words))
    for letters, small in ((ascii_uppercase, False), (ascii_lowercase, True)):
        low = ""
        mine = (word for word in present if (word >= "a") is small)
        for is_kept, group in itertools.groupby(mine, key=kept.__contains__):
            run = list(group)
            if is_kept:
                found |= {word: word for word in run}
                low = run[-1]
            else:
                high = next((each for each in present if each > run[-1] and each in kept), "")
                bound = high if (high >= "a") is small else ""
                free = _between(low, bound, letters, len(run), kept)
                found |= zip(run, free, strict=True)
    return found


def renamed_words(text: str, by: Mapping[str, str]) -> str:
    """Return a text with the pseudonyms of its words."""
    return WORD.sub(lambda match: by[match[0]], text)


def _between(
    low: str, high: str, letters: str, number: int, kept: Collection[str]
) -> Iterator[str]:
    """Yield `number` new words in order that sort between `low` and `high`, none of them in `kept`.

    An empty `low` or `high` sets no bound.
    """
    start = _start(low, high, letters)
    width = LEAST_WIDTH
    while len(letters) ** width < number + len(kept):
        width += 1
    made = (start + "".join(each) for each in itertools.product(letters, repeat=width))
    return itertools.islice((each for each in made if each not in kept), number)


def _start(low: str, high: str, letters: str) -> str:
    """Return a prefix with which every word sorts between `low` and `high`."""
    if not low:
        return _below(high, letters)
    if high.startswith(low):
        return low + _below(high[len(low) :], letters)
    pairs = enumerate(zip(low, high, strict=False))
    place = next((i for i, (one, other) in pairs if one != other), 0)
    for i in range(place, len(low)):
        following = chr(ord(low[i]) + 1)
        is_below = i > place or not high or following < high[place]
        if following in letters and is_below:
            return low[:i] + following
    return low + letters[0]


def _below(high: str, letters: str) -> str:
    """Return a prefix with which every word sorts before `high`; "" if there is none."""
    first = letters[0]
    if not high:
        return first
    place = next((i for i, each in enumerate(high) if each > first), None)
    if place is None:
        raise ValueError(f"there is no word of letters below {high}")
    return high[:place] + first
