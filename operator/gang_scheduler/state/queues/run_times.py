"""How long gangs run, and when they are expected to end, as they and their Jobs declare."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

from gang_scheduler.model.evictions import RunTime
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.workloads import NONE, GangsByWorkload

NOTHING = RunTime()


class RunTimes:
    """The run times that Jobs declare, by the uid of the Job. All times are in seconds.

    `gangs` says which gangs have pods of a Job.
    """

    def __init__(self, gangs: GangsByWorkload) -> None:
        self._jobs: dict[str, tuple[RunTime, Problem | None]] = {}
        self._wrong: set[str] = set()
        self._gangs = gangs

    def upsert(
        self, uid: str, said: RunTime | None, problem: Problem | None
    ) -> AbstractSet[GangKey]:
        """Note the run time that a Job declares; return the gangs for which it is new."""
        before = self._jobs.pop(uid, None)
        if said is not None or problem is not None:
            self._jobs[uid] = (said or NOTHING, problem)
        self._wrong.discard(uid)
        if problem is not None:
            self._wrong.add(uid)
        return self._gangs.of(uid) if before != self._jobs.get(uid) else NONE

    def delete(self, uid: str) -> AbstractSet[GangKey]:
        """Forget a Job; return the gangs whose run time changes."""
        self._wrong.discard(uid)
        return self._gangs.of(uid) if self._jobs.pop(uid, None) is not None else NONE

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

    def ends_at(self, pods: Iterable[Pod], of_gang: RunTime | None, now: int) -> int | None:
        """Return when the last of these pods is expected to end; None if that is unknown.

        An expected end in the past does not count as known.
        """
        last = 0
        for pod in pods:
            ends = min(self._ends(pod, of_gang, now), default=None)
            if ends is None:
                return None
            last = max(last, ends)
        return last or None

    def _ends(self, pod: Pod, of_gang: RunTime | None, now: int) -> Iterator[int]:
        began = pod.started_at or pod.scheduled_at or now
        for deadline, expected, since in self._said(pod, of_gang):
            if deadline is not None:
                yield (since or began) + deadline
            if expected is not None and began + expected > now:
                yield began + expected

    def _said(self, pod: Pod, of_gang: RunTime | None) -> Iterator[RunTime]:
        if pod.run_time is not None:
            yield pod.run_time
        if of_gang is not None:
            yield of_gang
        if self._jobs and pod.job_uid in self._jobs:
            yield self._jobs[pod.job_uid][0]
