"""Loggers that import structlog with their first line: read-only commands log nothing.

Importing structlog takes longer than reading a small cluster.
"""

import logging
import sys
from collections.abc import Callable
from typing import Any, Final

_own: Final = logging.getLogger("gang_scheduler")
_at_first: Final[list[Callable[[], None]]] = []
"""The functions that are called before the first line is written."""


class Logger:
    """A logger of structlog."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: Any = None

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - structlog's.
        if self._made is None:
            self._made = _structlog_logger()
        return getattr(self._made, name)


def is_debugging() -> bool:
    """Return whether debug lines are written. Check this before computing expensive values."""
    return _own.isEnabledFor(logging.DEBUG)


def be_quiet() -> None:
    """Send only errors to stderr, for commands that print an answer, and keep no log."""
    if "structlog" in sys.modules:
        _send_errors_only()
    else:
        _at_first.append(_send_errors_only)


def _send_errors_only() -> None:
    import structlog  # noqa: PLC0415 - only if there is a log.

    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


def _structlog_logger() -> Any:  # noqa: ANN401 - structlog's.
    import structlog  # noqa: PLC0415 - only if there is a log.

    while _at_first:
        _at_first.pop()()
    return structlog.get_logger()
