"""When each gang is tried again, if nothing happens before that could help it."""

import heapq
from collections.abc import Mapping
from typing import Final

from gang_scheduler.model.gangs import GangKey
from gang_scheduler.state.gangs.gang_info import GangInfo

FIRST_RETRY_SECONDS: Final = 1
LAST_RETRY_SECONDS: Final = 60
REST_RETRY_SECONDS: Final = 4
"""A gang that is bound in part holds room, and may do nothing until its rest is bound."""


class Retries:
    """The moments at which gangs are due again, in seconds since the epoch; one entry a gang."""

    def __init__(self, infos: Mapping[GangKey, GangInfo]) -> None:
        self._infos = infos
        self._moments: list[tuple[int, GangKey]] = []

    def __len__(self) -> int:
        return len(self._moments)

    def next(self) -> int | None:
        """Return when the first gang is due."""
        return self._moments[0][0] if self._moments else None

    def later(
        self, info: GangInfo, now: int, deadline: int | None, most: int = LAST_RETRY_SECONDS
    ) -> None:
        """Double the wait each time; but never sleep past the schedule timeout."""
        wait = min(FIRST_RETRY_SECONDS << info.retries, most)
        info.retries = min(info.retries + 1, LAST_RETRY_SECONDS.bit_length())
        moment = now + wait
        if deadline is not None and now < deadline < moment:
            moment = deadline
        self.at(info, moment)

    def at(self, info: GangInfo, moment: int) -> None:
        """Let a gang be due at a moment, and not at the one that was set before."""
        info.retry_at = moment
        # One entry a gang: an earlier one is moved on when its time comes.
        if info.woken_at is None or moment < info.woken_at:
            info.woken_at = moment
            heapq.heappush(self._moments, (moment, info.key))

    def due(self, now: int) -> set[GangKey]:
        """Take out and return the gangs whose moment has come."""
        due = set()
        while self._moments and self._moments[0][0] <= now:
            moment, key = heapq.heappop(self._moments)
            info = self._infos.get(key)
            if info is None or info.woken_at != moment:
                continue
            info.woken_at = None
            if info.retry_at is None or info.retry_at <= now:
                due.add(key)
            else:
                self.at(info, info.retry_at)
        return due
