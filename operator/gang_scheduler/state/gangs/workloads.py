"""Workloads of gangs: the gangs of each workload, and the pods that its Jobs can still have."""

import enum
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import chain
from typing import Final

from gang_scheduler.api import annotations
from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.decode.gangs.specs import GangObject
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import MinMemberAboveJobs
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod, PodClass, PodPhase, numbers_by, one_of_each
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobPods
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.observed import NO_SPEC
from gang_scheduler.wire import pods as pod_wire
from gang_scheduler.wire.base import Metadata
from gang_scheduler.workloads import job_sets, kueue_pod_groups, queue_namers, table

# Gangs whose Jobs have all failed, so that no member of them is created again.


class FailedJobs:
    """The Jobs of each gang by uid, even after their pods are gone, and the failed Jobs."""

    def __init__(self) -> None:
        self._gangs: dict[str, set[GangKey]] = {}
        self._jobs: dict[GangKey, set[str]] = {}
        self._failed: set[str] = set()

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note the gang of a pod that belongs to a Job."""
        if key.source != refs.SINGLE.name:
            self._join(key, pod.job_uid)

    def upsert(self, uid: str, gang: GangKey | None) -> set[GangKey]:
        """Record the gang of a failed Job, None for no such Job; return the gangs concerned."""
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


# Gangs with pods of a workload, which must learn of changes in the workload.

NONE: Final = frozenset[GangKey]()


class GangsByWorkload:
    """The gangs of each workload that their pods name: a Job by uid, others by name.

    Pods may be known before their workloads, and may outlast them. A gang is forgotten when none of
    its pods and objects is left, even if its workloads still exist.
    """

    def __init__(self) -> None:
        self._gangs: dict[str, set[GangKey]] = {}
        self._workloads: dict[GangKey, set[str]] = {}

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note the workloads that a pod of a Job belongs to."""
        for workload in (*requesting(pod), part_of(pod)):
            if workload:
                self._gangs.setdefault(workload, set()).add(key)
                self._workloads.setdefault(key, set()).add(workload)

    def of(self, workload: str) -> AbstractSet[GangKey]:
        """Return the gangs that have had pods of a workload."""
        return self._gangs.get(workload, NONE)

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        for workload in self._workloads.pop(key, ()):
            gangs = self._gangs[workload]
            gangs.discard(key)
            if not gangs:
                del self._gangs[workload]


class DescribedGangs:
    """Tells gangs from workloads whose pods name other gangs.

    What a pod names is kept until the pod changes.
    """

    def __init__(self) -> None:
        self._named: dict[str, tuple[Pod, tuple[GangKey, ...]]] = {}

    def of(
        self, infos: Mapping[GangKey, GangInfo], pods: Callable[[], Iterable[Pod]]
    ) -> Iterator[GangInfo]:
        """Yield all gangs, except workloads whose pods name other gangs; `pods` has all pods."""
        # Only gangs without members need a search in pods, and they are few.
        bare = {key for key, info in infos.items() if not info.observed.members}
        elsewhere = self._named_by(pods()) if bare else set()
        for key, info in infos.items():
            if key not in bare or key not in elsewhere:
                yield info

    def _named_by(self, pods: Iterable[Pod]) -> set[GangKey]:
        """Return the workloads of pods that are in other gangs."""
        before, self._named = self._named, {}
        for pod in pods:
            known = before.get(pod.uid)
            if known is None or known[0] is not pod:
                known = pod, tuple(key for key in _workloads_of(pod) if key != pod.gang)
            self._named[pod.uid] = known
        return {key for _, keys in self._named.values() for key in keys}


def _workloads_of(pod: Pod) -> Iterator[GangKey]:
    """Yield the gangs that the Job of a pod and its other workloads would be."""
    yield GangKey(refs.JOB.name, pod.namespace, pod.job)
    labels, present = dict(pod.labels), dict(pod.annotations)
    source = pod_wire.Pod(Metadata(namespace=pod.namespace, labels=labels, annotations=present))
    for each in table.PODS:
        if name := each.name_of(source):
            yield GangKey(each.source.name, pod.namespace, name)


def requesting(pod: Pod) -> tuple[str, ...]:
    """Return the workloads that may name the queue of a pod, its Job first.

    A TrainJob is known by the JobSet that it makes.
    """
    others = tuple(queue_namers.of_pod(pod))
    if not pod.job_uid:
        return others
    job_set = pod.labels.get(JOB_SET_LABEL)
    if not job_set:
        return (pod.job_uid, *others)
    name = f"{pod.namespace}/{job_set}"
    return pod.job_uid, name, job_sets.of_job_set(name), *others


def part_of(pod: Pod) -> str:
    """Return the replicatedJob of a pod; "" if it belongs to none."""
    job_set, part = pod.labels.get(JOB_SET_LABEL), pod.labels.get(REPLICATED_JOB_LABEL)
    return refs.part_of(pod.namespace, job_set, part) if job_set and part else ""


# The number of pods that the Jobs of gangs can have: pods still needed, and pods ever possible.

KUEUE_POD_GROUP: Final = kueue_pod_groups.SOURCE.name
NO_JOBS: Final = frozenset[str]()
NONE_SPARED: Final[Mapping[str, int]] = {}
OWNERS = frozenset({refs.JOB.name, refs.JOB_SET.name})


class JobSizes:
    """The Jobs by uid, and the replicatedJobs of JobSets; `gangs` are the gangs with their pods."""

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
        """Note the number of pods that a Job can have; None forgets it.

        Return the gangs concerned.
        """
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
        """Note how many pods each part of a JobSet can have. Without parts, forget the JobSet.

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
        """Return the members that may still come: a pod that is like them, and their number.

        Missing pods of a Job are like its other pods. If the total of the gang says that still more
        will come, these are like most members. Linear in members.
        """
        spec, living = info.observed.spec or NO_SPEC, info.observed.living
        if info.key.source == refs.SINGLE.name or spec.each_alone or not living:
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
        """Return the workload of a pod whose size is known: its replicatedJob, or else its Job."""
        part = part_of(pod) if self._parts else ""
        return part if part in self._parts else pod.job_uid

    def _size(self, workload: str) -> int:
        pods = self._pods.get(workload)
        return self._parts.get(workload, 0) if pods is None else pods.left

    def spared(self, info: GangInfo) -> Mapping[str, int]:
        """Return the number of members of each role that are not run again, since they succeeded.

        Members of Jobs are counted by the Job, since the pods may be gone. Other members are
        counted as pods of the run to which the living members belong. Linear in members.
        """
        observed = info.observed
        if observed.all_live and not (self._pods and observed.summary.of_jobs):
            return NONE_SPARED
        living, members = one_of_each(observed.living), observed.members.values()
        runs = {pod.run for pod in living if pod.run}
        done = [
            pod
            for pod in members
            if pod.phase is PodPhase.SUCCEEDED and pod.run in runs and not pod.deleting
        ]
        spared = Counter(self._spared_by_jobs(info, living, done))
        others = [pod.role for pod in done if pod.job_uid not in self._pods]
        # All pods without a controller may belong to an earlier run.
        if info.key.source != KUEUE_POD_GROUP or len(others) < info.observed.min_member:
            spared.update(others)
        return dict(spared)

    def _spared_by_jobs(
        self, info: GangInfo, living: Collection[Pod], done: Collection[Pod]
    ) -> dict[str, int]:
        """Return the spared members of living Jobs, and of complete Jobs that existed with them."""
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
            # The status of the Job may be older than its pods.
            left = max(0, min(pods.left, pods.completions - ended[job]))
            if number := pods.at_once - left:
                spared[role] = spared.get(role, 0) + number
        return spared

    def _complete_with(self, living: Collection[str], info: GangInfo) -> dict[str, str]:
        """Return the roles of complete Jobs that existed together with the living Jobs.

        Without known times, complete Jobs that are a quorum by themselves count as an earlier run.
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
        """Return the problem of a gang whose Jobs create fewer pods at once than its quorum.

        This holds only if all waiting members belong to Jobs that are no gangs themselves. Other
        pods may still come, such as pods of another Job.
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


# Gangs with an object that a controller made for a workload of several roles.


class MadeFor:
    """The gangs of PodGroups, by the gang that their workload would be without a PodGroup."""

    def __init__(self) -> None:
        self._gangs: dict[GangKey, set[GangKey]] = {}
        self._workloads: dict[GangKey, GangKey] = {}

    def upsert(self, key: GangKey, workload: GangKey | None) -> None:
        """Record the workload for which the object of a gang was made; None for no workload."""
        if self._workloads.get(key) == workload:
            return
        self.forget(key)
        if workload is not None:
            self._workloads[key] = workload
            self._gangs.setdefault(workload, set()).add(key)

    def forget(self, key: GangKey) -> None:
        """Forget a gang."""
        workload = self._workloads.pop(key, None)
        if workload is None:
            return
        gangs = self._gangs[workload]
        gangs.discard(key)
        if not gangs:
            del self._gangs[workload]

    def workload_of(self, key: GangKey) -> GangKey | None:
        """Return the workload for which the object of a gang was made, if there is one."""
        return self._workloads.get(key)

    def of(self, workload: GangKey) -> Collection[GangKey]:
        """Return the gangs of the objects that were made for a workload."""
        return self._gangs.get(workload, ())


# Pods that are a gang because a TrainJob has made their JobSet.
#
# Such pods look like the pods of any JobSet. Only the JobSet tells that a TrainJob owns it. Until
# the JobSet is known, no object describes the gang of its pods, and the gang waits.
#
# Trainer's coscheduling policy makes one PodGroup that counts all pods of a TrainJob. If some pods
# are created only after others have run, such a gang could never start. Then the JobSet counts.

SINGLE, JOB_SET = refs.SINGLE.name, refs.JOB_SET.name
POD_GROUP = refs.POD_GROUP.name


class Made(enum.Enum):
    """The origin of a JobSet: a user made it for itself, or Trainer made it for a TrainJob."""

    ITSELF = enum.auto()
    TRAIN_JOB = enum.auto()
    TRAIN_JOB_IN_ORDER = enum.auto()
    """Some of its pods are created only after others."""


class TrainJobs:
    """The JobSets by namespace/name, and for each the pods whose gang depends on it.

    `enabled`: the pods of TrainJobs are gangs without a label. If not, nothing is kept here.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._made: dict[str, Made] = {}
        self._pods: dict[str, set[str]] = {}

    def chosen(self, job_set: GangObject) -> GangObject:
        """Return a JobSet with its declared gangs, or its default gang if TrainJobs are gangs."""
        if not self._enabled or job_set.by_default is None:
            return job_set
        return replace(job_set, gang_specs=job_set.by_default)

    def upsert(self, job_set: GangObject) -> set[str]:
        """Note the origin of a JobSet; return the uids of its pods if the origin is new."""
        if not self._enabled or not job_set.readable:
            return set()
        made, name = _made(job_set), job_set.workload
        before, self._made[name] = self._made.get(name), made
        self._names[job_set.uid], self._uids[name] = name, job_set.uid
        return set() if before is made else set(self._pods.get(name, ()))

    def delete(self, uid: str) -> None:
        """Forget a JobSet. Its pods stay in their gangs."""
        name = self._names.pop(uid, "")
        if self._uids.get(name) == uid:
            del self._uids[name], self._made[name]

    def settled(self, pod: Pod, before: GangKey | None = None) -> Pod:
        """Return a pod in its gang; `before` is the gang of a pod that is already known."""
        # Most pods belong to no JobSet, and this runs for every changed pod.
        if not self._enabled or annotations.JOB_SET_LABEL not in pod.labels:
            return pod
        if pod.virtual:
            return pod  # A planned member waits in the gang of its workload.
        name = _undecided(pod)
        if not name:
            return pod
        self._pods.setdefault(name, set()).add(pod.uid)
        made = self._made.get(name)
        if made is None and before is not None:
            return replace(pod, gang=before)
        if pod.gang.source == POD_GROUP and made is not Made.TRAIN_JOB_IN_ORDER:
            return pod
        return replace(pod, gang=_single(pod) if made is Made.ITSELF else _part(pod))

    def forget(self, pod: Pod) -> None:
        """Forget a pod."""
        name = _job_set_of(pod)
        pods = self._pods.get(name)
        if pods is not None:
            pods.discard(pod.uid)
            if not pods:
                del self._pods[name]


def _undecided(pod: Pod) -> str:
    """Return the JobSet of a pod if it decides about the gang of the pod, else ""."""
    if pod.gang.source == POD_GROUP:
        # A PodGroup of coscheduling has the name of the TrainJob, and so has the JobSet.
        named = pod.labels.get(annotations.POD_GROUP_LABEL_SCHED_PLUGINS)
        return _job_set_of(pod) if named == pod.labels[annotations.JOB_SET_LABEL] else ""
    if pod.gang.source not in (SINGLE, JOB_SET) or annotations.JOB_GANG_LABEL in pod.labels:
        return ""
    return "" if annotations.ask_for_gang(pod.labels, pod.annotations) else _job_set_of(pod)


def _made(job_set: GangObject) -> Made:
    if job_set.by_default is None:
        return Made.ITSELF
    return Made.TRAIN_JOB_IN_ORDER if job_set.in_order else Made.TRAIN_JOB


def _job_set_of(pod: Pod) -> str:
    labels = pod.labels
    if annotations.JOB_SET_LABEL in labels and annotations.REPLICATED_JOB_LABEL in labels:
        return f"{pod.namespace}/{labels[annotations.JOB_SET_LABEL]}"
    return ""


def _part(pod: Pod) -> GangKey:
    labels = pod.labels
    name = refs.job_set_gang(
        labels[annotations.JOB_SET_LABEL], labels[annotations.REPLICATED_JOB_LABEL]
    )
    return GangKey(JOB_SET, pod.namespace, name)


def _single(pod: Pod) -> GangKey:
    return GangKey(SINGLE, pod.namespace, pod.name)
