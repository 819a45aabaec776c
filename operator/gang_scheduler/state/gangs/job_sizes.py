"""How many pods the Jobs of gangs can have: how many are needed still, and can ever come."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Final

from gang_scheduler.decode.workloads import kueue_pod_groups
from gang_scheduler.model import gang_sources
from gang_scheduler.model.causes.specs import MinMemberAboveJobs
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod, PodClass, PodPhase
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobPods
from gang_scheduler.model.virtual_pods import numbers_by, one_of_each
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gangs_by_workload import NONE, GangsByWorkload, part_of
from gang_scheduler.state.gangs.records.observed import NO_SPEC

KUEUE_POD_GROUP: Final = kueue_pod_groups.KIND.name
NO_JOBS: Final = frozenset[str]()
NOBODY: Final[Mapping[str, int]] = {}
OWNERS = frozenset({gang_sources.JOB.name, gang_sources.JOB_SET.name})


class JobSizes:
    """The Jobs by their uid, and the replicatedJobs of JobSets; `gangs` have pods of them."""

    def __init__(self, gangs: GangsByWorkload) -> None:
        self._pods: dict[str, JobPods] = {}
        self._complete: dict[GangKey, set[str]] = {}
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
        if before == pods:
            return NONE
        gangs = {each.gang for each in (before, pods) if each is not None and each.gang}
        for gang in gangs:
            complete = self._complete.setdefault(gang, set())
            complete.discard(uid)
            if pods is not None and pods.gang == gang:
                complete.add(uid)
            if not complete:
                del self._complete[gang]
        return self._gangs.of(uid) | gangs

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
        """Return how many members of each role are not run any more: so many have succeeded.

        Those of Jobs are counted by these, since the pods may be gone, and all others as pods of
        the run of which members live. Linear in members.
        """
        observed = info.observed
        if observed.all_live and not (self._pods and observed.summary.of_jobs):
            return NOBODY
        living, members = one_of_each(observed.living), observed.members.values()
        runs = {pod.run for pod in living if pod.run}
        done = [
            pod
            for pod in members
            if pod.phase is PodPhase.SUCCEEDED and pod.run in runs and not pod.deleting
        ]
        spared = Counter(self._spared_by_jobs(info, living, done))
        others = [pod.role for pod in done if pod.job_uid not in self._pods]
        # Pods without a controller may be a whole group of before.
        if info.key.source != KUEUE_POD_GROUP or len(others) < info.observed.min_member:
            spared.update(others)
        return dict(spared)

    def _spared_by_jobs(
        self, info: GangInfo, living: Collection[Pod], done: Collection[Pod]
    ) -> dict[str, int]:
        """Return the same of Jobs with members that live, and of complete ones of their time."""
        roles = {pod.job_uid: pod.role for pod in living if pod.job_uid in self._pods}
        if not roles:
            return {}
        roles = {
            **self._complete_with(roles, info),
            **{pod.job_uid: pod.role for pod in done if pod.job_uid in self._pods},
            **roles,
        }
        ended = Counter(pod.job_uid for pod in done)
        spared: dict[str, int] = {}
        for job, role in sorted(roles.items()):
            pods = self._pods[job]
            # Its status may be older than its pods.
            left = max(0, min(pods.left, pods.completions - ended[job]))
            if number := pods.at_once - left:
                spared[role] = spared.get(role, 0) + number
        return spared

    def _complete_with(self, living: Collection[str], info: GangInfo) -> dict[str, str]:
        """Return the roles of the Jobs that are complete, and were there when living ones were.

        Where no times tell, Jobs that were a quorum by themselves were an earlier run.
        """
        members = info.observed.members.values()
        known = {pod.job_uid for pod in members if pod.phase is PodPhase.SUCCEEDED}
        known = (known & self._pods.keys()) | self._complete.get(info.key, NO_JOBS)
        complete = {job: self._pods[job] for job in known if self._pods[job].gang is not None}
        began = min(self._pods[job].created_at for job in living)
        found = {job for job, pods in complete.items() if 0 < began <= pods.ended_at}
        undated = {job for job, pods in complete.items() if not (began and pods.ended_at)}
        if sum(complete[job].at_once for job in undated) < info.observed.min_member:
            found |= undated
        return {job: complete[job].role for job in found}

    def problem(self, gang: Gang) -> Problem | None:
        """Return what a gang waits for if the Jobs of its members make fewer pods at once.

        Other pods may come, as those of another Job. Only of Jobs that are no gangs themselves, and
        if all its waiting members are of such Jobs.
        """
        jobs = {pod.job_uid for pod in one_of_each(gang.pending)}
        if gang.key.source in OWNERS or not jobs or jobs - self._pods.keys():
            return None
        if any(self._pods[job].is_part for job in jobs):
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
