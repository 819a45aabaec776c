"""Topology requests of a group: the common request of its gangs, and their contradictions."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from gang_scheduler.api import annotations
from gang_scheduler.decode.gangs.specs import MisplacedRequest
from gang_scheduler.model import refs
from gang_scheduler.model.causes.specs import (
    GangsRequestsDiffer,
    PodRequestBesideGang,
    PodsetsDiffer,
)
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, WorkloadRef
from gang_scheduler.model.topology_request import PodSet, TopologyRequest
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.workloads.misplaced_requests import STATEFUL_SET


def common(
    whole: Iterable[GangInfo], starting: Collection[GangKey]
) -> TopologyRequest | Problem | None:
    """Return the common request of a group; a gang without a request of its own inherits it.

    The requests of gangs that have started hold for the `starting` gangs, too. But a gang that has
    lost members and starts again alone uses its own request, which need not agree with the others.
    """
    asking = [
        (each, found) for each in whole if (found := each.observed.topology_request) is not None
    ]
    alone = [each for each in asking if each[0].attempt.was_whole and each[0].key in starting]
    asked = {record.key: topology_request for record, topology_request in alone or asking}
    first = next(iter(asked), None)
    for key, topology_request in asked.items():
        if first is not None and topology_request != asked[first]:
            return _contradiction(first, key, asked)
    return None if first is None else asked[first]


def shared(gangs: Iterable[Gang]) -> bool:
    """Return whether a waiting member must share its domain with members of other gangs."""
    podsets = (pod.podset for gang in gangs for pod in one_of_each(gang.pending))
    return any(podset.group for podset in podsets if podset is not None)


def started(whole: Iterable[GangInfo], starting: Collection[GangKey]) -> tuple[Pod, ...]:
    """Return the bound members of the gangs that are not `starting`, each gang in rank order."""
    others = (each for each in whole if each.key not in starting)
    return tuple(pod for each in others for pod in each.observed.bound())


def checked(gang: Gang, topology_request: TopologyRequest | None) -> Gang:
    """Return the gang, with a problem if a member and the group have different requests.

    A problem that the gang already has stays.
    """
    asking = (pod for pod in one_of_each(gang.pending) if pod.podset and _asks(pod.podset))
    pod = next(asking, None) if topology_request is not None and gang.problem is None else None
    if pod is None or pod.podset is None or topology_request is None:
        return gang
    own = pod.podset.topology_request.where
    cause = PodRequestBesideGang(pod.key, own, topology_request.where)
    return replace(gang, problem=Problem(Reason.INVALID_SPEC, cause))


def podset_problem(gangs: Iterable[Gang]) -> Problem | None:
    """Return a problem if members of one podset group request different topologies."""
    first: dict[str, tuple[Pod, PodSet]] = {}
    for pod in (pod for gang in gangs for pod in one_of_each(gang.pending)):
        if pod.podset is None or not pod.podset.group:
            continue
        other, podset = first.setdefault(pod.podset.group, (pod, pod.podset))
        if (
            pod.podset is not podset
            and pod.podset.topology_request.shared != podset.topology_request.shared
        ):
            cause = PodsetsDiffer((other.key, pod.key), podset.group)
            return Problem(Reason.INVALID_SPEC, cause)
    return None


def _asks(podset: PodSet) -> bool:
    return podset.topology_request.is_set or bool(podset.group)


def _contradiction(
    gang: GangKey, other: GangKey, asked: Mapping[GangKey, TopologyRequest]
) -> Problem:
    fields = asked[gang].where, asked[other].where
    return Problem(Reason.INVALID_SPEC, GangsRequestsDiffer((gang, other), fields))


# Pods that wait because their workload asks for a gang in the wrong place.


class MisplacedRequests:
    """The workloads with a request in the wrong place, by uid, and all waiting pods without a gang.

    A pod in a gang does not count: for this pod, the request is in the right place.
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
        """Record a workload's misplaced request, None for none; return the gangs concerned."""
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
        """Return the problem of a pod whose workload asks for a gang in the wrong place."""
        if not self.by_uid:
            return None
        for pod in gang.pending:
            for workload in _workloads_of(gang.key, pod):
                if workload in self._uids:
                    return self.by_uid[self._uids[workload]].problem
        return None


def _workloads_of(key: GangKey, pod: Pod) -> Iterator[WorkloadRef]:
    """Yield the StatefulSet, or the JobSet and the Job, of a pod that is in no gang."""
    if key.source != refs.SINGLE.name:
        return
    if pod.stateful_set:
        yield WorkloadRef(STATEFUL_SET, pod.namespace, pod.stateful_set)
    if not pod.job:
        return
    job_set = pod.labels.get(annotations.JOB_SET_LABEL)
    if job_set:
        yield WorkloadRef(refs.JOB_SET.object_kind, pod.namespace, job_set)
    yield WorkloadRef(refs.JOB.object_kind, pod.namespace, pod.job)
