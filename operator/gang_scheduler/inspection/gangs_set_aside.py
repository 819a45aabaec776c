"""Gangs that the scheduler has set aside because deciding on them takes long.

Only the scheduler knows the measured times, so they are read from its statuses. Without this, a
cycle here would try such gangs, and take as long.
"""

import re
from typing import Final

from gang_scheduler.decode import fields
from gang_scheduler.inspection.listing import waits
from gang_scheduler.model.reasons import Reason
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS

SAID: Final = re.compile(
    r"took the scheduler (\d{1,6}\.\d) s, .{1,80}? tried again at (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
)


def take_over(cache: Cache, now: int) -> None:
    """Set those gangs aside in the cache whose statuses say so. `now` is in seconds."""
    for key, info in cache.gang_queue.infos.items():
        if not info.has_pending(cache.schedulers):
            continue  # The scheduler does not try it.
        found = waits.written(info)
        if found.reason == Reason.SET_ASIDE.value:
            cache.gang_queue.set_aside.hold(key, *_said(found.message, now), now)


def _said(message: str, now: int) -> tuple[float, int]:
    """Return how long the last decision took, and when the next one is due, both in seconds."""
    said = SAID.search(message)
    if said is None:
        return SHARE_SECONDS, now + 1
    return float(said[1]), max(fields.timestamp_or_zero(said[2]), now + 1)
