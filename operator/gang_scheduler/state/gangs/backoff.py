"""When each gang is tried again, if nothing happens before that could help it."""

import heapq
from dataclasses import dataclass
from typing import Final

from gang_scheduler.model.refs import GangKey

FIRST_RETRY_SECONDS: Final = 1
LAST_RETRY_SECONDS: Final = 60
REST_RETRY_SECONDS: Final = 4
"""A gang that is bound in part holds room, and may do nothing until its rest is bound."""


@dataclass(slots=True)
class _Retry:
    """The retries of one gang: how many there were, and when the next is, in epoch seconds.

    `woken_at` is the moment of its entry among the moments, not later than `at`.
    """

    number: int = 0
    failed_binds: int = 0
    at: int | None = None
    woken_at: int | None = None


class Retries:
    """The moments at which gangs are due again, in seconds since the epoch; one entry a gang."""

    def __init__(self) -> None:
        self._gangs: dict[GangKey, _Retry] = {}
        self._moments: list[tuple[int, GangKey]] = []

    def __len__(self) -> int:
        return len(self._moments)

    def next(self) -> int | None:
        """Return when the first gang is due."""
        return self._moments[0][0] if self._moments else None

    def later(
        self, key: GangKey, now: int, deadline: int | None, most: int = LAST_RETRY_SECONDS
    ) -> None:
        """Double the wait each time; but never sleep past the schedule timeout."""
        retry = self._gangs.get(key) or self._new(key)
        wait = min(FIRST_RETRY_SECONDS << retry.number, most)
        retry.number = min(retry.number + 1, LAST_RETRY_SECONDS.bit_length())
        moment = now + wait
        if deadline is not None and now < deadline < moment:
            moment = deadline
        self._set(key, retry, moment)

    def after_failed_bind(
        self, key: GangKey, now: int, deadline: int | None, most: int = LAST_RETRY_SECONDS
    ) -> None:
        """Do the same, counting failed bindings: taking these back resets the other count."""
        retry = self._gangs.get(key) or self._new(key)
        retry.number = retry.failed_binds
        self.later(key, now, deadline, most)
        retry.failed_binds = retry.number

    def at(self, key: GangKey, moment: int) -> None:
        """Let a gang be due at a moment, and not at the one that was set before."""
        self._set(key, self._gangs.get(key) or self._new(key), moment)

    def no_later(self, key: GangKey, moment: int, now: int) -> None:
        """Let a gang be due at a moment, if it is not due between `now` and then."""
        retry = self._gangs.get(key) or self._new(key)
        if retry.at is None or not now < retry.at < moment:
            self._set(key, retry, moment)

    def _set(self, key: GangKey, retry: _Retry, moment: int) -> None:
        retry.at = moment
        # One entry a gang: an earlier one is moved on when its time comes.
        if retry.woken_at is None or moment < retry.woken_at:
            retry.woken_at = moment
            heapq.heappush(self._moments, (moment, key))

    def due(self, now: int) -> set[GangKey]:
        """Take out and return the gangs whose moment has come."""
        due = set()
        while self._moments and self._moments[0][0] <= now:
            moment, key = heapq.heappop(self._moments)
            retry = self._gangs.get(key)
            if retry is None or retry.woken_at != moment:
                continue
            retry.woken_at = None
            if retry.at is None or retry.at <= now:
                due.add(key)
            else:
                self._set(key, retry, retry.at)
        return due

    def failed_binds(self, key: GangKey) -> int:
        """Return how many bindings of a gang have failed in a row; above 5 they are not counted."""
        retry = self._gangs.get(key)
        return 0 if retry is None else retry.failed_binds

    def start_over(self, key: GangKey) -> None:
        """Wait no longer than the first time when a gang is refused: it has changed."""
        retry = self._gangs.get(key)
        if retry is not None:
            retry.number = 0

    def placed(self, key: GangKey) -> None:
        """Let the moment of a gang pass that has found room."""
        retry = self._gangs.get(key)
        if retry is not None:
            retry.at = None

    def bound(self, key: GangKey) -> None:
        """Count no failed bindings of a gang any more: the API server has taken them."""
        retry = self._gangs.get(key)
        if retry is not None:
            retry.failed_binds = 0

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._gangs.pop(key, None)

    def _new(self, key: GangKey) -> _Retry:
        retry = self._gangs[key] = _Retry()
        return retry
