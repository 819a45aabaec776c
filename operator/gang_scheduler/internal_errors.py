"""Internal errors, confined to the gang that met them: logged once, counted, shown by readiness.

A gang, pod or object on which a part fails must not stop that part for all other gangs, pods and
objects. So each is handled inside `confined`, and an error there is noted here and goes no further.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from gang_scheduler import telemetry

REMEMBERED_SECONDS: Final = 600.0
"""How long readiness shows an error."""
MOST_REMEMBERED: Final = 1000

log = structlog.get_logger()

_seen: dict[tuple[str, str, str], float] = {}
"""When each error was met last, on the monotonic clock: by step, subject and error."""


@dataclass(slots=True)
class Confined:
    """Whether the block inside `confined` failed, and how."""

    error: Exception | None = None

    @property
    def failed(self) -> bool:
        """Whether the block raised an error."""
        return self.error is not None


@contextmanager
def confined(step: str, about: str) -> Iterator[Confined]:
    """Note an error instead of raising it. `about` is the gang, pod or object concerned."""
    outcome = Confined()
    try:
        yield outcome
    except Exception as error:
        outcome.error = error
        note(step, about, error)


def note(step: str, about: str, error: Exception) -> None:
    """Count an error, remember it for readiness, and log it with its traceback the first time."""
    telemetry.INTERNAL_ERRORS.labels(step).inc()
    key = (step, about, in_short(error))
    if key not in _seen:
        log.error("internal_error", step=step, about=about, exc_info=error)
    _seen[key] = time.monotonic()
    while len(_seen) > MOST_REMEMBERED:
        del _seen[next(iter(_seen))]


def in_short(error: Exception) -> str:
    """Return an error in one line."""
    return f"{type(error).__name__}: {error}"


def problem() -> str:
    """Return the latest error within REMEMBERED_SECONDS in words; "" for none."""
    since = time.monotonic() - REMEMBERED_SECONDS
    recent = [key for key, at in _seen.items() if at >= since]
    if not recent:
        return ""
    step, about, error = recent[-1]
    more = f" (and {len(recent) - 1} more)" if recent[1:] else ""
    return f"internal error, {step} {about}: {error}{more}"


def forget() -> None:
    """Forget all errors: for tests, which begin without any."""
    _seen.clear()
