"""Which gangs were of Jobs that have all failed: no member of these is created again."""

from gang_scheduler.model import gang_sources
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey


class FailedJobs:
    """The Jobs of each gang, by uid, also after their pods are gone, and those that have failed."""

    def __init__(self) -> None:
        self._gangs: dict[str, set[GangKey]] = {}
        self._jobs: dict[GangKey, set[str]] = {}
        self._failed: set[str] = set()

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note in which gang a pod of a Job is."""
        if key.source != gang_sources.SINGLE.name:
            self._join(key, pod.job_uid)

    def upsert(self, uid: str, gang: GangKey | None) -> set[GangKey]:
        """Note the gang of a Job that has failed; None: it has not. Return the gangs concerned."""
        if (gang is not None) == (uid in self._failed):
            return set()
        if gang is None:
            self._failed.discard(uid)
        else:
            self._failed.add(uid)
            self._join(gang, uid)
        return set(self._gangs.get(uid, ()))

    def delete(self, uid: str) -> set[GangKey]:
        """Forget a Job; return the gangs that had pods of it."""
        self._failed.discard(uid)
        gangs = self._gangs.pop(uid, set())
        for key in gangs:
            self._jobs[key].discard(uid)
            if not self._jobs[key]:
                del self._jobs[key]
        return gangs

    def are_all(self, key: GangKey) -> bool:
        """Return whether a gang had pods of Jobs, and all of these Jobs have failed."""
        jobs = self._jobs.get(key, set())
        return bool(jobs) and jobs <= self._failed

    def _join(self, key: GangKey, uid: str) -> None:
        self._gangs.setdefault(uid, set()).add(key)
        self._jobs.setdefault(key, set()).add(uid)
