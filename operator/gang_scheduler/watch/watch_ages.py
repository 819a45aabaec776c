"""How long ago each watch last gave a sign of life, for metrics: worked out when it is asked for.

A sign is an event, a bookmark, an answered list, or a watch that was begun anew and answered: that
of a kind of which nothing changes is begun anew every few seconds.
"""

import functools
import time
from typing import Final

from gang_scheduler.telemetry import metrics

_seen: Final[dict[str, float]] = {}


def seen(kind: str) -> None:
    """Note a sign of life of the watch of a kind."""
    is_new = kind not in _seen
    _seen[kind] = time.monotonic()
    if is_new:
        metrics.WATCH_AGE.labels(kind).set_function(functools.partial(_age, kind))


def not_served(kind: str) -> None:
    """Note that there is nothing to watch of a kind."""
    if _seen.pop(kind, None) is not None:
        metrics.WATCH_AGE.remove((kind,))


def _age(kind: str) -> float:
    now = time.monotonic()
    return now - _seen.get(kind, now)
