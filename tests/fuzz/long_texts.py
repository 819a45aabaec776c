"""Texts as long as may be, of what makes parsers slow: one letter, digits, separators, nesting.

And lists and maps as long as may be, of entries of which no two are alike.
"""

import copy
import functools
import json
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
NAMES: Final = frozenset(
    [
        "name",
        "key",
        "topologyKey",
        "uid",
        "request",
        "driver",
        "pool",
        "device",
        "layer",
        "value",
        "claimName",
        "volumeName",
    ]
)
"""Fields that tell the entries of lists apart."""
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


def ways_to_lists(whole: Manifest) -> list[Path]:
    """Return the ways to all lists that are not empty, and to all maps of texts."""
    return [path for path in paths(whole) if _may_grow(_at(whole, path))]


def with_long_list(whole: Manifest, path: Path, length: int = LONGEST) -> Manifest:
    """Return a copy of an object with so many letters of entries at the end of a way."""
    # What stands in several places of a YAML file is one object: grown in one of them.
    made: Manifest = json.loads(json.dumps(whole, default=str))
    part = _at(made, path)
    if isinstance(part, list):
        one = part[0]
        grown: object = [_told_apart(one, n) for n in range(length // (len(json.dumps(one)) + 6))]
    else:
        key, value = next(iter(part.items()))
        number = length // (len(key) + len(str(value)) + 12)
        grown = {**part, **{f"{key}{n}": value for n in range(number)}}
    _at(made, path[:-1])[path[-1]] = grown
    return made


def _may_grow(part: object) -> bool:
    if isinstance(part, dict):
        return bool(part) and all(isinstance(each, str) for each in part.values())
    return isinstance(part, list) and bool(part)


def _told_apart(entry: Any, number: int) -> Any:
    """Return an entry with another name, key or uid wherever it has one."""
    if isinstance(entry, dict):
        return {
            key: f"{each}{number}"
            if key in NAMES and isinstance(each, str)
            else _told_apart(each, number)
            for key, each in entry.items()
        }
    if isinstance(entry, list):
        return [_told_apart(each, number) for each in entry]
    return f"{entry}{number}" if isinstance(entry, str) else entry


def _at(whole: Manifest, path: Path) -> Any:
    return functools.reduce(lambda tree, step: tree[step], path, whole)
