"""What in the logs of replicas tells of an error that nothing was there to handle."""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

TRACEBACK: Final = "Traceback"
KOPF: Final = "kopf._core.reactor."
"""How the loggers begin by which Kopf tells, with a traceback, of its own end."""


class _Line(msgspec.Struct):
    logger: str = ""


def unexpected(lines: Iterable[str]) -> Iterator[str]:
    """Yield the tracebacks: lines of JSON with one in them, and all that is between such lines."""
    crash: list[str] = []
    for line in (*lines, "{}"):
        if not line.startswith("{"):
            crash.append(line)
            continue
        written = "\n".join(crash)
        if TRACEBACK in written:
            yield written
        crash.clear()
        if TRACEBACK in line and not _is_of_kopf(line):
            yield line


def _is_of_kopf(line: str) -> bool:
    """Return whether a line is Kopf's; one that a kill has cut off is not."""
    try:
        return msgspec.json.decode(line, type=_Line).logger.startswith(KOPF)
    except msgspec.DecodeError:
        return False
