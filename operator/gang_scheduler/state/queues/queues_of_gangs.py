"""The queue of each gang, as its object, its workload and its members declare."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from gang_scheduler.model.causes.queues import GangsQueuesDiffer, QueueNamesDiffer
from gang_scheduler.model.causes.specs import PriorityClassMissing
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.pods import Pod, one_of_each
from gang_scheduler.model.queues import LocalQueueWeight, Product, QueueRef
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.records import revised
from gang_scheduler.model.refs import GangKey, QueueName, QueueRequest
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.run_times import RunTimes
from gang_scheduler.state.gangs.workloads import NONE, GangsByWorkload, requesting
from gang_scheduler.state.queues.names import NamedLeaf, QueueNames, different

# The queue that Jobs and JobSets name for their pods, if the pods name none themselves.


class WorkloadQueues:
    """Requests by workload: a Job by its uid, a JobSet by namespace/name, as its pods name it.

    `gangs` says which gangs have pods of a workload.
    """

    def __init__(self, gangs: GangsByWorkload) -> None:
        self._requests: dict[str, QueueRequest] = {}
        self._workloads: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        """The uid of the object that names a queue: a deleted object may have had the same name."""
        self._gangs = gangs

    def __bool__(self) -> bool:
        return bool(self._requests)

    def upsert(self, uid: str, workload: str, request: QueueRequest | None) -> AbstractSet[GangKey]:
        """Note the queue that an object names; return the gangs for which it is new."""
        before = self._requests.pop(workload, None)
        self._workloads[uid] = workload
        self._uids[workload] = uid
        if request is not None:
            self._requests[workload] = request
        return self._gangs.of(workload) if before != request else NONE

    def delete(self, uid: str) -> AbstractSet[GangKey]:
        """Forget an object; return the gangs that lose the queue it named."""
        workload = self._workloads.pop(uid, "")
        if self._uids.get(workload) != uid:
            return NONE
        del self._uids[workload]
        said = self._requests.pop(workload, None)
        return self._gangs.of(workload) if said is not None else NONE

    def requests_of(self, pod: Pod) -> tuple[QueueRequest, ...]:
        """Return the requests of the Job and the JobSet of a pod."""
        if not self._requests:
            return ()
        found = (self._requests.get(workload) for workload in requesting(pod))
        return tuple(each for each in found if each is not None)


# The queue of each gang, and what else its objects declare.

NOTHING_SAID: Final = QueueRequest()
MOST_MEANT: Final = 10_000
"""At most this many names are remembered with their queues. Beyond that, all are forgotten."""


class Resolved(NamedTuple):
    """The queue of a gang, None if it is unclear, and the problem that keeps the gang out of it.

    `class_priority` is the value of its WorkloadPriorityClass, `local` its LocalQueue if the order
    in the queue depends on LocalQueues. `by_default`: neither gang nor members name the queue.
    """

    ref: QueueRef | None
    problem: Problem | None = None
    class_priority: int | None = None
    local: LocalQueueWeight | None = None
    by_default: bool = False


class _Kept(NamedTuple):
    seen: int
    resolved: Resolved


class QueuesOfGangs:
    """The queues of gangs, each found once until the gang or the queues change.

    `touched` are gangs that may be in another queue than before. They are noted only while usage is
    `summed` by queue, since a new sum begins with all gangs. `round` counts how often all queues
    had to be found again, and `regrouped` is set when groups may have changed. `provisions`: the
    provisioning classes of gangs matter.
    """

    def __init__(
        self, infos: Mapping[GangKey, GangInfo], names: QueueNames, by_workload: GangsByWorkload
    ) -> None:
        self.names = names
        self.workloads = WorkloadQueues(by_workload)
        self.run_times = RunTimes(by_workload.of)
        self.touched: set[GangKey] = set()
        self.summed = False
        self.round = 0
        self.regrouped = False
        self.provisions = False
        self._infos = infos
        self._kept: dict[GangKey, _Kept] = {}
        self._meant: dict[tuple[QueueName | None, str, str], NamedLeaf] = {}

    def of(self, key: GangKey) -> Resolved | None:
        """Return the queue of a gang; None while there are no queues.

        Linear in members, once. While there are no queues, a gang that must have one gets the
        problem that its queue is missing.
        """
        info = self._infos.get(key)
        if not self.names.in_use:
            return self._missing(info) if info is not None else None
        if info is None:
            return Resolved(None)
        kept, seen = self._kept.get(key), info.version.seen
        if kept is None or kept.seen != seen:
            kept = self._kept[key] = _Kept(seen, self._resolve(info))
        return kept.resolved

    def touch(self, key: GangKey) -> None:
        """Note that a gang has changed."""
        if self.summed:
            self.touched.add(key)

    def forget(self, key: GangKey) -> None:
        """Forget a gang that is gone."""
        self._kept.pop(key, None)
        self.touch(key)

    def start_over(self) -> None:
        """Find all queues again: declared objects have changed."""
        self._kept.clear()
        self._meant.clear()
        self.round += 1

    def with_queue(self, gang: Gang) -> Gang:
        """Return a gang with its queue, and with the problem that keeps it from using the queue."""
        resolved = self.of(gang.key)
        gang = self._bought(gang)
        if resolved is None:
            return self._checked(gang)
        in_queue = self._lasting(_in_queue(gang, resolved))
        return revised(in_queue, flavors=self._flavors_of(gang.key)) if gang.bound else in_queue

    def _bought(self, gang: Gang) -> Gang:
        """Return a gang with the provisioning class that it, a member or its Job names."""
        info = self._infos.get(gang.key)
        if info is None or not self.provisions:
            return gang
        own, others = self._requests(info)
        said = (each.provisioning_class for each in (own, *others))
        name = next(filter(None, said), "")
        return revised(gang, provisioning_class=name) if name else gang

    def _lasting(self, gang: Gang) -> Gang:
        """Return a gang with its declared run time, and with any problem in that declaration."""
        info = self._infos.get(gang.key)
        spec = info.observed.spec if info is not None else None
        members = one_of_each(gang.pending)
        duration = self.run_times.duration(members, spec.run_time if spec else None)
        gang = self._checked(gang)
        return gang if duration is None else revised(gang, duration=duration)

    def _checked(self, gang: Gang) -> Gang:
        """Return a gang with the problem in the run time that its Job declares, if there is one."""
        problem = gang.problem or self.run_times.problem(one_of_each(gang.pending))
        return gang if problem is gang.problem else revised(gang, problem=problem)

    def _flavors_of(self, key: GangKey) -> frozenset[tuple[str, str]]:
        """Return the flavors in which members on nodes are charged, from their bindings."""
        info = self._infos.get(key)
        members = info.observed.living if info is not None else ()
        written = (pod.charged_to for pod in members if pod.node and pod.charged_to is not None)
        return frozenset(pair for each in written for pair in each.flavors)

    def group_problem(self, keys: Sequence[GangKey]) -> Problem | None:
        """Return a problem if gangs of one group are in different queues."""
        if len(keys) < 2 or not self.names.in_use:
            return None
        found = [(key, resolved.ref) for key in keys if (resolved := self.of(key)) is not None]
        known = [(key, ref) for key, ref in found if ref is not None]
        other = next((each for each in known if each[1] != known[0][1]), None)
        if other is None:
            return None
        (key, ref), (other_key, other_ref) = known[0], other
        cause = GangsQueuesDiffer((key, other_key), (ref.name, other_ref.name))
        return Problem(Reason.INVALID_SPEC, cause)

    def _missing(self, info: GangInfo) -> Resolved | None:
        """Return the problem of a gang that must have a queue, without any; None if it need not."""
        resolved = self._resolve(info)
        return resolved if resolved.problem is not None else None

    def _resolve(self, info: GangInfo) -> Resolved:
        own, others = self._requests(info)
        names = tuple(filter(self.names.counts, _names(own, others)))
        if len(names) > 1:
            cause = QueueNamesDiffer(*((each.kind, each.name) for each in names[:2]))
            return Resolved(None, Problem(Reason.INVALID_SPEC, cause))
        meant = self._meant_by(info.key, names[0] if names else None)
        wanted = next((each.priority_class for each in (own, *others) if each.priority_class), "")
        return self._in_force(self._with_priority(meant, wanted, by_default=not names))

    def _meant_by(self, key: GangKey, name: QueueName | None) -> NamedLeaf:
        """Return the leaf that a gang means by a name; without a name, its default leaf.

        Found once for a name and a namespace until the queues change.
        """
        said = name, key.namespace, "" if name else key.source
        known = self._meant.get(said) if self.names.in_use else None
        if known is not None:
            return known
        if name is None:
            meant = self.names.default(key.namespace, key.source)
        else:
            meant = self.names.leaf_of(name, key.namespace)
        if self.names.in_use:
            if len(self._meant) >= MOST_MEANT:
                self._meant.clear()  # Deleted gangs may have named any queue.
            self._meant[said] = meant
        return meant

    def _requests(self, info: GangInfo) -> tuple[QueueRequest, tuple[QueueRequest, ...]]:
        """Return the request of the gang's object, and the requests of members and their Jobs."""
        spec = info.observed.spec
        own = (spec.queue_request if spec is not None else None) or NOTHING_SAID
        if info.observed.living and not self.workloads:
            return own, info.observed.summary.queue_requests
        others: dict[QueueRequest, None] = {}
        for pod in one_of_each(info.observed.describing_members):
            if pod.queue_request is not None:
                others[pod.queue_request] = None
            others.update(dict.fromkeys(self.workloads.requests_of(pod)))
        return own, tuple(others)

    def _with_priority(self, meant: NamedLeaf, wanted: str, *, by_default: bool) -> Resolved:
        """Return the queue of a gang, with the priority of the class that the gang names.

        Any user may name any class, so it counts only in Kueue's queues, as Kueue defines it.
        """
        if not wanted or meant.ref is None or meant.ref.product is not Product.KUEUE:
            return Resolved(meant.ref, meant.problem, None, meant.local, by_default)
        found, problem = self.names.known.priority_class(wanted), meant.problem
        if found is None:
            problem = problem or Problem(Reason.INVALID_SPEC, PriorityClassMissing(wanted))
        value = found.value if found else None
        return Resolved(meant.ref, problem, value, meant.local, by_default)

    def _in_force(self, resolved: Resolved) -> Resolved:
        """Return the result, without its problem if another controller enforces the queue."""
        queue_set, ref = self.names.known.queue_set(), resolved.ref
        if queue_set is None or ref is None or ref.product in queue_set.enforced:
            return resolved
        return resolved._replace(problem=None)


def _names(own: QueueRequest, others: Iterable[QueueRequest]) -> tuple[QueueName, ...]:
    """Return the different names.

    For each kind, names of the object come before names of members.
    """
    said = {each.kind for each in own.names}
    rest = (name for each in others for name in each.names if name.kind not in said)
    return different((*own.names, *rest))


def _in_queue(gang: Gang, resolved: Resolved) -> Gang:
    return revised(
        gang,
        queue=resolved.ref,
        class_priority=resolved.class_priority,
        local_queue=resolved.local,
        problem=gang.problem or resolved.problem,
    )
