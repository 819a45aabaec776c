"""How many pods the Jobs of gangs can have: how many are needed still, and can ever come."""

from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes import MinMemberAboveJobs
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobPods
from gang_scheduler.state.gangs.gang_info import GangInfo

OWNERS = frozenset({gang_sources.JOB.name, gang_sources.JOB_SET.name})


class JobSizes:
    """The Jobs by their uid, and the gangs that have some of their pods."""

    def __init__(self) -> None:
        self._pods: dict[str, JobPods] = {}
        self._gangs: dict[str, set[GangKey]] = {}

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note in which gang a pod of a Job is."""
        if pod.job_uid:
            self._gangs.setdefault(pod.job_uid, set()).add(key)

    def upsert(self, uid: str, pods: JobPods | None) -> set[GangKey]:
        """Note how many pods a Job can have; None forgets it. Return the gangs concerned."""
        before = self._pods.pop(uid, None)
        if pods is not None:
            self._pods[uid] = pods
        gangs = self._gangs.get(uid, set())
        if pods is None:
            self._gangs.pop(uid, None)
        return gangs if before != pods else set()

    def spared(self, info: GangInfo) -> int:
        """Return how many members Jobs will not run any more, because so many have succeeded."""
        jobs = {pod.job_uid for pod in info.observed.living} & self._pods.keys()
        return sum(self._pods[job].at_once - self._pods[job].left for job in jobs)

    def problem(self, gang: Gang) -> Problem | None:
        """Return what a gang waits for if the Jobs of its members make fewer pods at once.

        Other pods may come, as those of another Job. Only of Jobs that are no gangs themselves, and
        if all its waiting members are of such Jobs.
        """
        jobs = {pod.job_uid for pod in gang.pending}
        if gang.key.source in OWNERS or not jobs or jobs - self._pods.keys():
            return None
        most = sum(self._pods[job].at_once for job in jobs)
        if most >= gang.min_member:
            return None
        names = tuple(sorted({f"{pod.namespace}/{pod.job}" for pod in gang.pending}))
        present = gang.bound + len(gang.pending)
        cause = MinMemberAboveJobs(present, gang.min_member, most, names)
        return Problem(Reason.WAITING_FOR_MEMBERS, cause)
