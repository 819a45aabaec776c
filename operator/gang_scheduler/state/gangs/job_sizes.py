"""How many pods the Jobs of gangs can have: how many are needed still, and can ever come."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import MinMemberAboveJobs
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobPods
from gang_scheduler.model.virtual_pods import numbers_by, one_of_each
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gangs_by_workload import NONE, GangsByWorkload, part_of
from gang_scheduler.state.gangs.records.observed import NO_SPEC

OWNERS = frozenset({gang_sources.JOB.name, gang_sources.JOB_SET.name})


class JobSizes:
    """The Jobs by their uid, and the replicatedJobs of JobSets; `gangs` have pods of them."""

    def __init__(self, gangs: GangsByWorkload) -> None:
        self._pods: dict[str, JobPods] = {}
        self._parts: dict[str, int] = {}
        self._parts_of: dict[str, dict[str, int]] = {}
        self._gangs = gangs

    def has(self, uid: str) -> bool:
        """Return whether a Job is known."""
        return uid in self._pods

    def upsert(self, uid: str, pods: JobPods | None) -> AbstractSet[GangKey]:
        """Note how many pods a Job can have; None forgets it. Return the gangs concerned."""
        before = self._pods.pop(uid, None)
        if pods is not None:
            self._pods[uid] = pods
        return self._gangs.of(uid) if before != pods else NONE

    def upsert_parts(self, uid: str, parts: Iterable[tuple[str, int]]) -> set[GangKey]:
        """Note how many pods the parts of a JobSet can have; none forgets them.

        Return the gangs concerned.
        """
        before, after = self._parts_of.pop(uid, {}), dict(parts)
        for part in before:
            self._parts.pop(part, None)
        self._parts.update(after)
        if after:
            self._parts_of[uid] = after
        changed = {part for part, _ in before.items() ^ after.items()}
        return set(chain.from_iterable(self._gangs.of(part) for part in changed))

    def absent(self, info: GangInfo) -> tuple[tuple[PodClass, int], ...]:
        """Return the members that may come still: like which pods, and how many. Linear in members.

        Those of a Job are like its pods; what a total says beyond that is like most members.
        """
        spec, living = info.observed.spec or NO_SPEC, info.observed.living
        if info.key.source == gang_sources.SINGLE.name or spec.apart or not living:
            return ()
        found = list(self._absent_of_jobs(living))
        expected = len(living) + sum(number for _, number in found)
        rest = (spec.options.total or 0) - expected
        if rest > 0:
            ((most, _),) = numbers_by(living, _class_of).most_common(1)
            found.append((most, rest))
        return tuple(found)

    def _absent_of_jobs(self, living: Sequence[Pod]) -> Iterator[tuple[PodClass, int]]:
        if not (self._pods or self._parts):
            return
        first: dict[str, Pod] = {}
        for pod in one_of_each(living):
            first.setdefault(self._sized(pod), pod)
        present = numbers_by(living, self._sized)
        for workload, pod in first.items():
            number = self._size(workload) - present[workload]
            if number > 0:
                yield pod.pod_class, number

    def _sized(self, pod: Pod) -> str:
        """Return the workload of a pod whose size is known, a replicatedJob before its Jobs."""
        part = part_of(pod) if self._parts else ""
        return part if part in self._parts else pod.job_uid

    def _size(self, workload: str) -> int:
        pods = self._pods.get(workload)
        return self._parts.get(workload, 0) if pods is None else pods.left

    def spared(self, info: GangInfo) -> Mapping[str, int]:
        """Return how many members of each role Jobs will not run any more.

        Because so many have succeeded. All pods of a Job are of one role.
        """
        role_of = {pod.job_uid: pod.role for pod in one_of_each(info.observed.living)}
        spared: dict[str, int] = {}
        for job in role_of.keys() & self._pods.keys():
            number = self._pods[job].at_once - self._pods[job].left
            if number:
                spared[role_of[job]] = spared.get(role_of[job], 0) + number
        return spared

    def problem(self, gang: Gang) -> Problem | None:
        """Return what a gang waits for if the Jobs of its members make fewer pods at once.

        Other pods may come, as those of another Job. Only of Jobs that are no gangs themselves, and
        if all its waiting members are of such Jobs.
        """
        jobs = {pod.job_uid for pod in one_of_each(gang.pending)}
        if gang.key.source in OWNERS or not jobs or jobs - self._pods.keys():
            return None
        most = sum(self._pods[job].at_once for job in jobs)
        if most >= gang.min_member:
            return None
        names = tuple(sorted({f"{pod.namespace}/{pod.job}" for pod in gang.pending}))
        present = gang.bound + len(gang.pending)
        cause = MinMemberAboveJobs(present, gang.min_member, most, names)
        return Problem(Reason.WAITING_FOR_MEMBERS, cause)


def _class_of(pod: Pod) -> PodClass:
    return pod.pod_class
