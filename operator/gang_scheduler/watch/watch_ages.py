"""How long ago each watch last gave a sign of life: worked out when it is asked for.

A sign is an event, or a watch that was begun anew and answered: that of a kind of which nothing
changes is begun anew every few seconds. A list is none, but while pages of it come the watch is on
its way.
"""

import functools
import time
from typing import Final

from gang_scheduler.telemetry import metrics

_seen: Final[dict[str, float]] = {}
_listed: Final[dict[str, float]] = {}


def seen(kind: str) -> None:
    """Note a sign of life of the watch of a kind."""
    is_new = kind not in _seen
    _seen[kind] = time.monotonic()
    if is_new:
        metrics.WATCH_AGE.labels(kind).set_function(functools.partial(_age, kind))


def listed(kind: str) -> None:
    """Note that a page of a list has come. A watch has an age from the first one on."""
    _listed[kind] = time.monotonic()
    if kind not in _seen:
        seen(kind)


def not_served(kind: str) -> None:
    """Note that there is nothing to watch of a kind."""
    _listed.pop(kind, None)
    if _seen.pop(kind, None) is not None:
        metrics.WATCH_AGE.remove((kind,))


def ages() -> dict[str, float]:
    """Return how long ago that was for each kind that is watched. Any thread may ask."""
    now = time.monotonic()
    return {kind: now - at for kind, at in _seen.copy().items()}


def idle() -> dict[str, float]:
    """Return the same, where pages of lists count as well."""
    now = time.monotonic()
    return {kind: min(age, now - _listed.get(kind, 0.0)) for kind, age in ages().items()}


def _age(kind: str) -> float:
    now = time.monotonic()
    return now - _seen.get(kind, now)
