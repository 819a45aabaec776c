"""Which pods wait because their workload asks for a gang in the wrong place."""

from collections.abc import Iterator

from gang_scheduler.api import annotations
from gang_scheduler.decode.gangs.gang_objects import MisplacedRequest
from gang_scheduler.decode.workloads.misplaced_requests import STATEFUL_SET
from gang_scheduler.model import gang_sources
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Problem
from gang_scheduler.model.refs import GangKey, WorkloadRef


class MisplacedRequests:
    """The workloads that ask so, by their uid, and the waiting pods of any workload.

    Of pods only those that are in no gang count: the others were asked for in the right place.
    """

    def __init__(self) -> None:
        self.by_uid: dict[str, MisplacedRequest] = {}
        self._uids: dict[WorkloadRef, str] = {}
        self._waiting: dict[WorkloadRef, set[GangKey]] = {}

    def upsert_member(self, key: GangKey, pod: Pod) -> None:
        """Note whether a pod waits."""
        if pod.node:
            self.delete_member(key, pod)
            return
        for workload in _workloads_of(key, pod):
            self._waiting.setdefault(workload, set()).add(key)

    def delete_member(self, key: GangKey, pod: Pod) -> None:
        """Forget a pod."""
        for workload in _workloads_of(key, pod):
            waiting = self._waiting.get(workload, set())
            waiting.discard(key)
            if not waiting:
                self._waiting.pop(workload, None)

    def upsert(self, uid: str, request: MisplacedRequest | None) -> set[GangKey]:
        """Note what a workload asks for in vain; None: nothing. Return the gangs concerned."""
        before = self.by_uid.pop(uid, None)
        if before is not None and self._uids[before.workload] == uid:
            del self._uids[before.workload]
        if request is not None:
            self.by_uid[uid] = request
            self._uids[request.workload] = uid
        if before == request:
            return set()
        workloads = {each.workload for each in (before, request) if each is not None}
        return {key for each in workloads for key in self._waiting.get(each, ())}

    def problem(self, gang: Gang) -> Problem | None:
        """Return why a pod waits whose workload asks for a gang in the wrong place."""
        if not self.by_uid:
            return None
        for pod in gang.pending:
            for workload in _workloads_of(gang.key, pod):
                if workload in self._uids:
                    return self.by_uid[self._uids[workload]].problem
        return None


def _workloads_of(key: GangKey, pod: Pod) -> Iterator[WorkloadRef]:
    """Yield the StatefulSet, or the JobSet and the Job, of a pod that is in no gang."""
    if key.source != gang_sources.SINGLE.name:
        return
    if pod.stateful_set:
        yield WorkloadRef(STATEFUL_SET, pod.namespace, pod.stateful_set)
    if not pod.job:
        return
    job_set = pod.labels.get(annotations.JOB_SET_LABEL)
    if job_set:
        yield WorkloadRef(gang_sources.JOB_SET.object_kind, pod.namespace, job_set)
    yield WorkloadRef(gang_sources.JOB.object_kind, pod.namespace, pod.job)
