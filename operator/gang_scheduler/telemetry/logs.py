"""Logs: set up here, written by the loop and around it, never by the core."""

import logging
import sys

import structlog

from gang_scheduler.settings.choices import LogFormat
from gang_scheduler.settings.run import Settings

KINDS_NOT_SERVED = "Unresolved resources cannot be served"
HANDSHAKE_FAILED = "Fatal error on SSL protocol"
NOT_RETRIEVED = "Future exception was never retrieved"
WATCH_CLOSED = "an error occurred during closing of asynchronous generator"

_own = logging.getLogger("gang_scheduler")


def configure(settings: Settings) -> None:
    """Send our log lines, and the libraries' warnings, to stderr in the chosen format."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer()
    if settings.log_format is LogFormat.CONSOLE:
        renderer = structlog.dev.ConsoleRenderer(colors=False)
    structlog.configure(
        processors=[*shared, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    _own.setLevel(level)
    _route_standard_logging(level, shared, renderer)


def _route_standard_logging(
    level: int,
    shared: list[structlog.typing.Processor],
    renderer: structlog.typing.Processor,
) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            # The level depends on the writer: an error that a library reports about itself is not
            # ours.
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared, _warn_of_retries],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                renderer,
            ],
        )
    )
    handler.addFilter(_is_no_repetition)
    handler.addFilter(_is_no_abandoned_handshake)
    handler.addFilter(_is_no_watch_cut_short)
    logging.basicConfig(level=max(level, logging.WARNING), handlers=[handler], force=True)
    # Kopf logs every handled event at INFO, and every watch that ends and is opened again.
    logging.getLogger("kopf").setLevel(max(level, logging.WARNING))


def _is_no_repetition(record: logging.LogRecord) -> bool:
    """Drop Kopf's lines about missing CRDs, which it repeats at each start: we log one line."""
    return not str(record.msg).startswith(KINDS_NOT_SERVED)


def _is_no_abandoned_handshake(record: logging.LogRecord) -> bool:
    """Drop uvloop's lines about a connection that broke or was given up during the TLS handshake.

    uvloop continues the handshake and finds its own transport closed, or it sees the end twice and
    reports it again. The attempt already ended with its own error, which is logged.
    """
    error = record.exc_info[1] if record.exc_info else None
    is_closed = isinstance(error, RuntimeError) and "the handler is closed" in str(error)
    is_broken = isinstance(error, ConnectionError)
    words = str(record.msg)
    return not (
        (is_closed and words.startswith(HANDSHAKE_FAILED))
        or (is_broken and words.startswith(NOT_RETRIEVED))
    )


def _is_no_watch_cut_short(record: logging.LogRecord) -> bool:
    """Drop asyncio's lines about a Kopf watch that was closed because the process ends.

    If a connection breaks at that moment, Kopf's generators continue although they were told to
    end.
    """
    error = record.exc_info[1] if record.exc_info else None
    went_on = isinstance(error, RuntimeError) and "didn't stop after athrow()" in str(error)
    return not (went_on and str(record.msg).startswith(WATCH_CLOSED))


def _warn_of_retries(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    """Turn Kopf's error about a request that it repeats into a warning.

    For a moment, an API server answers 429 to every request for a newly installed kind.
    """
    if "failed; will retry" in str(event.get("event")):
        event["level"] = "warning"
    return event
