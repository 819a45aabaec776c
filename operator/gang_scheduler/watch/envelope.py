"""What is read of lists and watches themselves. Objects in them are left as they came: Raw."""

import re
from typing import Final, TypeVar

from msgspec import Raw
from msgspec.json import Decoder

from gang_scheduler.wire.metadata import Identified, ListMetadata
from gang_scheduler.wire.structs import Wire


class Event(Wire, frozen=True):
    """A line of a watch."""

    type: str
    object: Raw


class Status(Wire, frozen=True):
    """The object of an event of type ERROR."""

    code: int = 0
    message: str = ""


class Page(Wire, frozen=True):
    """A page of a list. An empty one may come as null."""

    metadata: ListMetadata
    items: list[Raw] | None = None


EVENT: Final = Decoder(Event)
STATUS: Final = Decoder(Status)
PAGE: Final = Decoder(Page)
IDENTIFIED: Final = Decoder(Identified)

T = TypeVar("T")

DEEPEST: Final = 200
"""How many levels of nesting are read. The decoder fails a whole page at about a thousand."""
_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def decoded(text: bytes, decoder: Decoder[T]) -> T:
    """Return the decoded text. Raises msgspec.DecodeError.

    Values nested deeper than any field that is read count as null: one object must not make all
    other objects of its page unreadable.
    """
    try:
        return decoder.decode(text)
    except RecursionError:
        return decoder.decode(_without_depths(text))


def _without_depths(text: bytes) -> bytes:
    """Return the JSON text with null in place of values that are too deep. Linear in its length."""
    kept, depth, begin = [], 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0][:1]
        if mark in (b"[", b"{"):
            depth += 1
            if depth == DEEPEST + 1:
                kept.append(text[begin : token.start()])
        elif mark in (b"]", b"}"):
            if depth == DEEPEST + 1:
                kept.append(b"null")
                begin = token.end()
            depth -= 1
    return b"".join((*kept, text[begin:]))
