"""Texts as long as may be, of what makes parsers slow: one letter, digits, separators, nesting."""

import copy
import functools
from collections.abc import Iterator
from typing import Any, Final

from property.mutants import Path, paths

Manifest = dict[str, Any]

LONGEST: Final = 250_000
"""All annotations of an object may have 256 KiB; other fields more."""
PIECES: Final = (
    "a",
    "9",
    "0",
    "1.",
    "1h",
    "111111111111.",
    "0.",
    "-",
    ",",
    "1,",
    "1-2,",
    "/",
    "a/",
    ".",
    " ",
    "\n",
    '"',
    "\\",
    "_",
    "=",
    "n1*9,",
    "a-1",
    "\u0661",
)
"""What is repeated."""
NESTED: Final = ("[", '{"a":', "(", "[[],")


def texts(length: int = LONGEST) -> Iterator[str]:
    """Return long texts, also with an end that makes what reads them look again."""
    for piece in (*PIECES, *NESTED):
        long = (piece * length)[:length]
        yield long
        yield long[:-1] + "!"
    yield "[" + ",".join(['"a/b"'] * (length // 6)) + "]"
    yield '{"' + '":1,"'.join(map(str, range(length // 10))) + '":1}'
    half = length // 2
    yield "[" * half + "]" * half
    yield "1e" + "9" * length
    yield "0." + "0" * length + "1"
    yield "5" * (length - 2) + "Gi"


def ways_to_texts(whole: Manifest) -> list[Path]:
    """Return the ways to all texts and numbers of an object."""
    return [path for path in paths(whole) if isinstance(_at(whole, path), str | int | float)]


def with_text(whole: Manifest, path: Path, text: str) -> Manifest:
    """Return a copy of an object with another text at the end of a way."""
    made = copy.deepcopy(whole)
    _at(made, path[:-1])[path[-1]] = text
    return made


def _at(whole: Manifest, path: Path) -> Any:
    return functools.reduce(lambda tree, step: tree[step], path, whole)
