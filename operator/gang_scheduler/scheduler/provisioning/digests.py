"""What is asked for in a few letters: the same ones in every process.

A new leader must know a request again that the one before it made, and Python's own hashes are
others in each process.
"""

import enum
import hashlib
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from typing import Final

LENGTH: Final = 16


def digest(*parts: object) -> str:
    """Return a digest of texts, numbers, tuples, sets, mappings and dataclasses of these."""
    return hashlib.sha256(_text(parts).encode()).hexdigest()[:LENGTH]


def _text(part: object) -> str:
    """Return a text that is another one for another value. Sets have no order, so they get one."""
    match part:
        case enum.Enum():
            text = repr(part.name)
        case Mapping():
            text = _joined(sorted(f"{_text(key)}:{_text(part[key])}" for key in part))
        case AbstractSet():
            text = _joined(sorted(map(_text, part)))
        case tuple() | list():
            text = _joined(map(_text, part))
        case _ if is_dataclass(part):
            text = _joined(_text(getattr(part, each.name)) for each in fields(part) if each.compare)
        case _:
            text = repr(part)
    return text


def _joined(texts: Iterable[str]) -> str:
    return f"({','.join(texts)})"
