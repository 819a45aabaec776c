"""Which gangs have pods of a workload, so that these hear of it when it says something else."""

from collections.abc import Set as AbstractSet
from typing import Final

from gang_scheduler.api.annotations import JOB_SET_LABEL, REPLICATED_JOB_LABEL
from gang_scheduler.decode.workloads import queue_namers, train_jobs
from gang_scheduler.model import gang_sources
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey

NONE: Final = frozenset[GangKey]()


class GangsByWorkload:
    """The gangs of each workload, as its pods name it: a Job by its uid, others by their names.

    Pods are known before their workloads may be, and may outlast them: a gang is forgotten when
    nothing is left of it, whichever of its workloads are there.
    """

    def __init__(self) -> None:
        self._gangs: dict[str, set[GangKey]] = {}
        self._workloads: dict[GangKey, set[str]] = {}

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note of which workloads a pod of a Job is."""
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
    return pod.job_uid, name, train_jobs.of_job_set(name), *others


def part_of(pod: Pod) -> str:
    """Return the replicatedJob of a pod, "" if it is of none."""
    job_set, part = pod.labels.get(JOB_SET_LABEL), pod.labels.get(REPLICATED_JOB_LABEL)
    return gang_sources.part_of(pod.namespace, job_set, part) if job_set and part else ""
