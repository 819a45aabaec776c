"""Which pods are a gang because a TrainJob has made their JobSet.

Such pods look like those of any JobSet: only the JobSet says that it is owned by a TrainJob. Until
it is known, its pods count as a gang that nothing describes, and so wait.

Trainer's coscheduling policy makes one PodGroup that counts all pods of a TrainJob. Where some are
created only after others have run, such a gang could never start: there the JobSet counts.
"""

import enum
from dataclasses import replace

from gang_scheduler.api import annotations
from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.model import gang_sources
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey

SINGLE, JOB_SET = gang_sources.SINGLE.name, gang_sources.JOB_SET.name
POD_GROUP = gang_sources.POD_GROUP.name


class Made(enum.Enum):
    """What a JobSet was made for."""

    ITSELF = enum.auto()
    TRAIN_JOB = enum.auto()
    TRAIN_JOB_IN_ORDER = enum.auto()
    """Some of its pods are created only after others."""


class TrainJobs:
    """The JobSets by namespace/name, and the pods of each that do not say what they are.

    `enabled`: the pods of TrainJobs are gangs without a label. If not, nothing is kept here.
    """

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        self._made: dict[str, Made] = {}
        self._pods: dict[str, set[str]] = {}

    def chosen(self, job_set: GangObject) -> GangObject:
        """Return what a JobSet says of gangs, with those that it makes of itself if it may."""
        if not self._enabled or job_set.by_default is None:
            return job_set
        return replace(job_set, gang_specs=job_set.by_default)

    def upsert(self, job_set: GangObject) -> set[str]:
        """Note what a JobSet was made for; return the uids of the pods of which that is news."""
        if not self._enabled or not job_set.readable:
            return set()
        made, name = _made(job_set), job_set.workload
        before, self._made[name] = self._made.get(name), made
        self._names[job_set.uid], self._uids[name] = name, job_set.uid
        return set() if before is made else set(self._pods.get(name, ()))

    def delete(self, uid: str) -> None:
        """Forget a JobSet. Its pods stay what they are."""
        name = self._names.pop(uid, "")
        if self._uids.get(name) == uid:
            del self._uids[name], self._made[name]

    def settled(self, pod: Pod, before: GangKey | None = None) -> Pod:
        """Return a pod in its gang, which was `before` if the pod is known already."""
        # Most pods are of no JobSet, and every pod that changes is looked at.
        if not self._enabled or annotations.JOB_SET_LABEL not in pod.labels:
            return pod
        if pod.virtual:
            return pod  # A planned member of a suspended workload waits in the gang of that.
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
    """Return the JobSet of a pod if that decides in which gang the pod is, else ""."""
    if pod.gang.source == POD_GROUP:
        # A PodGroup of coscheduling is called like the TrainJob, and so is the JobSet.
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
    name = gang_sources.job_set_gang(
        labels[annotations.JOB_SET_LABEL], labels[annotations.REPLICATED_JOB_LABEL]
    )
    return GangKey(JOB_SET, pod.namespace, name)


def _single(pod: Pod) -> GangKey:
    return GangKey(SINGLE, pod.namespace, pod.name)
