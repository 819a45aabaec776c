"""Changes of objects as watches report them, each a line of JSON in a recording.

A recording has lines with `at`, `type` and `object`. `at` is the time at which the event was
received, in RFC 3339 with microseconds. `type` and `object` are as in a Kubernetes watch. Five
types exist only in recordings.

`PASSED`: time has passed without another event; its object is {}.

`LISTING` and `LISTED`, with a kind as their object, enclose the objects found by a list. All
changes since the objects known before count as one step.

`BROKEN` and `RESUMED`, with a kind as their object: the watch of the kind broke and was resumed.
Events received after that may have happened at any time since it broke.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec

Object = Mapping[str, Any]
"""An object as the API server sends it."""

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"
LISTING: Final = "LISTING"
LISTED: Final = "LISTED"
BROKEN: Final = "BROKEN"
RESUMED: Final = "RESUMED"
PASSED: Final = "PASSED"
TYPES: Final = frozenset({ADDED, MODIFIED, DELETED, LISTING, LISTED, BROKEN, RESUMED, PASSED})


class Event(NamedTuple):
    """A change of an object, and when it was received, in seconds since the epoch."""

    at: float
    type: str
    object: Object

    @property
    def line(self) -> bytes:
        """The event as a line of a recording, with its newline."""
        written = {"at": rfc3339(self.at), "type": self.type, "object": self.object}
        return msgspec.json.encode(written) + b"\n"


def passed(at: float) -> Event:
    """Return an event that only says that time has passed."""
    return Event(at, PASSED, {})


class UnreadableLineError(Exception):
    """A line of a recording cannot be parsed."""


def of_line(line: bytes) -> Event:
    """Return the event of a line. Raises UnreadableLineError."""
    try:
        read = msgspec.json.decode(line, type=dict[str, Any])
        at, kind, found = seconds(read["at"]), read["type"], read["object"]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UnreadableLineError(f"no JSON object: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableLineError(f"at, type or object is missing or wrong: {error}") from error
    if kind not in TYPES or not isinstance(found, dict):
        raise UnreadableLineError(f"{kind!r} is none of {', '.join(sorted(TYPES))}")
    return Event(at, kind, found)


def rfc3339(at: float) -> str:
    """Return a time, in seconds since the epoch, as RFC 3339 with microseconds."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds(text: str) -> float:
    """Return a time in RFC 3339 as seconds since the epoch. Raises ValueError."""
    return datetime.fromisoformat(text).timestamp()
