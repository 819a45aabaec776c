"""What Jobs and JobSets say of the queue of their pods, where these do not say it themselves."""

from collections.abc import Set as AbstractSet

from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey, QueueRequest
from gang_scheduler.state.gangs.gangs_by_workload import NONE, GangsByWorkload, requesting


class WorkloadQueues:
    """Requests by workload: a Job by its uid, a JobSet by namespace/name, as its pods name it.

    `gangs` have some of their pods.
    """

    def __init__(self, gangs: GangsByWorkload) -> None:
        self._requests: dict[str, QueueRequest] = {}
        self._workloads: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        """Of the object that says it: one that is gone may have had the same name."""
        self._gangs = gangs

    def __bool__(self) -> bool:
        return bool(self._requests)

    def upsert(self, uid: str, workload: str, request: QueueRequest | None) -> AbstractSet[GangKey]:
        """Note what an object says; return the gangs for which that is news."""
        before = self._requests.pop(workload, None)
        self._workloads[uid] = workload
        self._uids[workload] = uid
        if request is not None:
            self._requests[workload] = request
        return self._gangs.of(workload) if before != request else NONE

    def delete(self, uid: str) -> AbstractSet[GangKey]:
        """Forget an object; return the gangs for which that is news."""
        workload = self._workloads.pop(uid, "")
        if self._uids.get(workload) != uid:
            return NONE
        del self._uids[workload]
        said = self._requests.pop(workload, None)
        return self._gangs.of(workload) if said is not None else NONE

    def requests_of(self, pod: Pod) -> tuple[QueueRequest, ...]:
        """Return what the Job and the JobSet of a pod say."""
        if not self._requests:
            return ()
        found = (self._requests.get(workload) for workload in requesting(pod))
        return tuple(each for each in found if each is not None)
