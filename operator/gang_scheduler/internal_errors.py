"""Internal errors are confined to one gang: logged once, counted, and shown by readiness.

If a part fails on a gang, pod or object, it must still work for all others. So each is handled
inside `confined`, and an error there is noted here and not raised further.
"""

import time
from types import TracebackType
from typing import Final, Self

from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

REMEMBERED_SECONDS: Final = 600.0
"""How long readiness shows an error."""
MOST_REMEMBERED: Final = 1000

log = Logger()

_seen: dict[tuple[str, str, str], float] = {}
"""When each error last occurred, on the monotonic clock: by step, subject and error."""


class confined:  # noqa: N801 - it reads as a function in `with`, as contextlib's classes do.
    """Record an error of the block instead of raising it; `error` is that error, None before.

    `about` is the gang, pod or object concerned, or its key: it is formatted only after an error.
    This is a class instead of a generator, which would cost twice as many calls: there are several
    blocks for each gang and cycle.
    """

    __slots__ = ("_about", "_step", "error")

    def __init__(self, step: str, about: object) -> None:
        self._step = step
        self._about = about
        self.error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.error = error
        note(self._step, str(self._about), error)
        return True

    @property
    def failed(self) -> bool:
        """Whether the block raised an error."""
        return self.error is not None


def note(step: str, about: str, error: Exception) -> None:
    """Count an error, remember it for readiness, and log it with its traceback the first time."""
    metrics.INTERNAL_ERRORS.labels(step).inc()
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
    """Return the latest error within REMEMBERED_SECONDS as text; "" if there was none."""
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
