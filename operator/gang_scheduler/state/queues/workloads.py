"""What Jobs and JobSets say of the queue of their pods, where these do not say it themselves."""

from gang_scheduler.api.annotations import JOB_SET_LABEL
from gang_scheduler.decode.workloads import train_jobs
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, QueueRequest


class WorkloadQueues:
    """Requests by workload: a Job by its uid, a JobSet by namespace/name, as its pods name it.

    A TrainJob is known by the JobSet that it makes.

    And the gangs that have some of their pods, which are known before their Jobs may be.
    """

    def __init__(self) -> None:
        self._requests: dict[str, QueueRequest] = {}
        self._workloads: dict[str, str] = {}
        self._gangs: dict[str, set[GangKey]] = {}

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note in which gang a pod of a Job or JobSet is."""
        for workload in _workloads_of(pod):
            self._gangs.setdefault(workload, set()).add(key)

    def upsert(self, uid: str, workload: str, request: QueueRequest | None) -> set[GangKey]:
        """Note what an object says; return the gangs for which that is news."""
        before = self._requests.pop(workload, None)
        self._workloads[uid] = workload
        if request is not None:
            self._requests[workload] = request
        return self._gangs.get(workload, set()) if before != request else set()

    def delete(self, uid: str) -> set[GangKey]:
        """Forget an object; return the gangs for which that is news."""
        workload = self._workloads.pop(uid, "")
        gangs = self._gangs.pop(workload, set())
        return gangs if self._requests.pop(workload, None) is not None else set()

    def requests_of(self, pod: Pod) -> tuple[QueueRequest, ...]:
        """Return what the Job and the JobSet of a pod say."""
        if not self._requests:
            return ()
        found = (self._requests.get(workload) for workload in _workloads_of(pod))
        return tuple(each for each in found if each is not None)


def _workloads_of(pod: Pod) -> tuple[str, ...]:
    if not pod.job_uid:
        return ()
    job_set = pod.labels.get(JOB_SET_LABEL)
    if not job_set:
        return (pod.job_uid,)
    name = f"{pod.namespace}/{job_set}"
    return pod.job_uid, name, train_jobs.of_job_set(name)
