"""How long gangs run, and when they are expected to end, as they and their Jobs declare.

`Clock` in `scheduler/reservation/releases.py` decides how far ahead an expected end is trusted.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey

NONE: Final[AbstractSet[GangKey]] = frozenset()
NO_RUN_TIME = RunTime()


class End(NamedTuple):
    """When pods are expected to end, in seconds; None if that is unknown.

    The answer holds from `since` until just before `until`, as long as no Job declares another run
    time, which would raise the `version`.
    """

    at: int | None
    since: int
    until: float
    version: int

    def holds(self, now: int, version: int) -> bool:
        """Return whether this is still the expected end."""
        return self.since <= now < self.until and self.version == version


NEVER_ASKED: Final = End(None, 0, 0, 0)


class RunTimes:
    """The run times that Jobs declare, by the uid of the Job. All times are in seconds.

    `gangs_of` returns the gangs that have pods of a Job.
    """

    def __init__(self, gangs_of: Callable[[str], AbstractSet[GangKey]]) -> None:
        self._jobs: dict[str, tuple[RunTime, Problem | None]] = {}
        self._wrong: set[str] = set()
        self._gangs_of = gangs_of
        self.version = 0
        """How often a Job has declared another run time."""

    def upsert(
        self, uid: str, said: RunTime | None, problem: Problem | None
    ) -> AbstractSet[GangKey]:
        """Note the run time that a Job declares; return the gangs for which it is new."""
        before = self._jobs.pop(uid, None)
        if said is not None or problem is not None:
            self._jobs[uid] = (said or NO_RUN_TIME, problem)
        self._wrong.discard(uid)
        if problem is not None:
            self._wrong.add(uid)
        if before == self._jobs.get(uid):
            return NONE
        self.version += 1
        return self._gangs_of(uid)

    def delete(self, uid: str) -> AbstractSet[GangKey]:
        """Forget a Job; return the gangs whose run time changes."""
        self._wrong.discard(uid)
        if self._jobs.pop(uid, None) is None:
            return NONE
        self.version += 1
        return self._gangs_of(uid)

    def problem(self, pods: Iterable[Pod]) -> Problem | None:
        """Return the problem in the run time that the Job of one of these pods declares."""
        if not self._wrong:
            return None
        uid = next((pod.job_uid for pod in pods if pod.job_uid in self._wrong), None)
        return None if uid is None else self._jobs[uid][1]

    def duration(self, pods: Iterable[Pod], of_gang: RunTime | None) -> int | None:
        """Return how long pods run that start now; None if any of them declares no run time."""
        longest = 0
        for pod in pods:
            pairs = (each[:2] for each in self._said(pod, of_gang))
            said = [each for pair in pairs for each in pair if each is not None]
            if not said:
                return None
            longest = max(longest, min(said))
        return longest or None

    def end_of(self, pods: Iterable[Pod], of_gang: RunTime | None, now: int) -> End:
        """Return when the last of these pods is expected to end.

        An expected end in the past does not count as known.
        """
        last, until = 0, math.inf
        for pod in pods:
            began, ends = pod.started_at or pod.scheduled_at, math.inf
            if not began:
                began, until = now, now + 1
            for deadline, expected, since in self._said(pod, of_gang):
                if deadline is not None:
                    ends = min(ends, (since or began) + deadline)
                if expected is not None and began + expected > now:
                    ends = min(ends, began + expected)
                    until = min(until, began + expected)
            if ends == math.inf:
                return End(None, now, math.inf, self.version)
            last = max(last, int(ends))
        return End(last or None, now, until, self.version)

    def _said(self, pod: Pod, of_gang: RunTime | None) -> Iterator[RunTime]:
        if pod.run_time is not None:
            yield pod.run_time
        if of_gang is not None:
            yield of_gang
        if self._jobs and pod.job_uid in self._jobs:
            yield self._jobs[pod.job_uid][0]
