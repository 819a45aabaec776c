"""The queue of each gang, by what its objects and its members say."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from gang_scheduler.model.causes.queues import GangsQueuesDiffer, QueueNamesDiffer
from gang_scheduler.model.causes.specs import PriorityClassMissing
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.problems import Problem, Reason
from gang_scheduler.model.queues import LocalQueueWeight, Product, QueueRef
from gang_scheduler.model.refs import GangKey, QueueName, QueueRequest
from gang_scheduler.model.virtual_pods import one_of_each
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.gangs_by_workload import GangsByWorkload
from gang_scheduler.state.queues.names import Meant, QueueNames, different
from gang_scheduler.state.queues.run_times import RunTimes
from gang_scheduler.state.queues.workloads import WorkloadQueues


class Resolved(NamedTuple):
    """The queue of a gang, None if it cannot be told, and what keeps the gang from using it.

    `class_priority` is that of its WorkloadPriorityClass, `local` its LocalQueue where these decide
    about the order. `by_default`: nothing of the gang names the queue.
    """

    ref: QueueRef | None
    problem: Problem | None = None
    class_priority: int | None = None
    local: LocalQueueWeight | None = None
    by_default: bool = False


class _Kept(NamedTuple):
    version: int
    resolved: Resolved


class GangQueues:
    """The queues of gangs, each found once for as long as the gang and the queues are the same.

    `touched` are gangs that may be in another queue than before, noted only while usage is `summed`
    by queue: a sum begins with all of them. `round` counts how often all had to be found anew, and
    `regrouped` tells that groups may be others.
    `provisions`: it matters which class of nodes gangs name.
    """

    def __init__(
        self, infos: Mapping[GangKey, GangInfo], names: QueueNames, by_workload: GangsByWorkload
    ) -> None:
        self.names = names
        self.workloads = WorkloadQueues(by_workload)
        self.run_times = RunTimes(by_workload)
        self.touched: set[GangKey] = set()
        self.summed = False
        self.round = 0
        self.regrouped = False
        self.provisions = False
        self._infos = infos
        self._kept: dict[GangKey, _Kept] = {}

    def of(self, key: GangKey) -> Resolved | None:
        """Return the queue of a gang; None while there are no queues. Linear in members once.

        A gang that is in a queue all the same has a problem also then: its queue is missing.
        """
        info = self._infos.get(key)
        if not self.names.in_use:
            return self._missing(info) if info is not None else None
        if info is None:
            return Resolved(None)
        kept, version = self._kept.get(key), info.version.number
        if kept is None or kept.version != version:
            kept = self._kept[key] = _Kept(version, self._resolve(info))
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
        """Find all queues anew: what is declared has changed."""
        self._kept.clear()
        self.round += 1

    def with_queue(self, gang: Gang) -> Gang:
        """Return a gang with its queue, and with what keeps it from using it."""
        resolved = self.of(gang.key)
        gang = self._bought(gang)
        if resolved is None:
            return self._checked(gang)
        in_queue = self._lasting(_in_queue(gang, resolved))
        return replace(in_queue, flavors=self._flavors_of(gang.key)) if gang.bound else in_queue

    def _bought(self, gang: Gang) -> Gang:
        """Return a gang with the class of nodes that it names, or a member or its Job."""
        info = self._infos.get(gang.key)
        if info is None or not self.provisions:
            return gang
        own, others = self._requests(info)
        said = (each.provisioning_class for each in (own, *others))
        name = next(filter(None, said), "")
        return replace(gang, provisioning_class=name) if name else gang

    def _lasting(self, gang: Gang) -> Gang:
        """Return a gang with how long it runs, and with what is wrong with that."""
        info = self._infos.get(gang.key)
        spec = info.observed.spec if info is not None else None
        members = one_of_each(gang.pending)
        duration = self.run_times.duration(members, spec.run_time if spec else None)
        gang = self._checked(gang)
        return gang if duration is None else replace(gang, duration=duration)

    def _checked(self, gang: Gang) -> Gang:
        """Return a gang with what is wrong with what its Job says of how long it runs."""
        problem = gang.problem or self.run_times.problem(one_of_each(gang.pending))
        return gang if problem is gang.problem else replace(gang, problem=problem)

    def _flavors_of(self, key: GangKey) -> frozenset[tuple[str, str]]:
        """Return the flavors that members on nodes are charged in, as their bindings say."""
        info = self._infos.get(key)
        members = info.observed.living if info is not None else ()
        written = (pod.charged_to for pod in members if pod.node and pod.charged_to is not None)
        return frozenset(pair for each in written for pair in each.flavors)

    def group_problem(self, keys: Iterable[GangKey]) -> Problem | None:
        """Return a problem if gangs of one group are in different queues."""
        if not self.names.in_use:
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
        """Return what keeps a gang waiting while there are no queues; None for one in none."""
        resolved = self._resolve(info)
        return resolved if resolved.problem is not None else None

    def _resolve(self, info: GangInfo) -> Resolved:
        own, others = self._requests(info)
        names = tuple(filter(self.names.counts, _names(own, others)))
        if len(names) > 1:
            cause = QueueNamesDiffer(*((each.kind, each.name) for each in names[:2]))
            return Resolved(None, Problem(Reason.INVALID_SPEC, cause))
        namespace = info.key.namespace
        if names:
            meant = self.names.meant(names[0], namespace)
        else:
            meant = self.names.default(namespace, info.key.source)
        wanted = next((each.priority_class for each in (own, *others) if each.priority_class), "")
        resolved = self._with_priority(meant, wanted)
        return self._in_force(resolved._replace(by_default=not names))

    def _requests(self, info: GangInfo) -> tuple[QueueRequest, list[QueueRequest]]:
        """Return what the object of a gang says, and what its members and their Jobs say."""
        spec, others = info.observed.spec, dict[QueueRequest, None]()
        for pod in one_of_each(info.observed.telling):
            if pod.queue_request is not None:
                others[pod.queue_request] = None
            others.update(dict.fromkeys(self.workloads.requests_of(pod)))
        own = spec.queue_request if spec is not None else None
        return own or QueueRequest(), list(others)

    def _with_priority(self, meant: Meant, wanted: str) -> Resolved:
        """Return where the gang is, with the priority of the class that it names.

        Any user may name any class, so it counts where Kueue says so: in queues of Kueue.
        """
        if not wanted or meant.ref is None or meant.ref.product is not Product.KUEUE:
            return Resolved(meant.ref, meant.problem, local=meant.local)
        found, problem = self.names.known.priority_class(wanted), meant.problem
        if found is None:
            problem = problem or Problem(Reason.INVALID_SPEC, PriorityClassMissing(wanted))
        return Resolved(meant.ref, problem, found.value if found else None, meant.local)

    def _in_force(self, resolved: Resolved) -> Resolved:
        """Return the same without a problem where another controller judges the queue."""
        queue_set, ref = self.names.known.queue_set(), resolved.ref
        if queue_set is None or ref is None or ref.product in queue_set.enforced:
            return resolved
        return resolved._replace(problem=None)


def _names(own: QueueRequest, others: Iterable[QueueRequest]) -> tuple[QueueName, ...]:
    """Return the different names: of each kind those of the object, else those of members."""
    said = {each.kind for each in own.names}
    rest = (name for each in others for name in each.names if name.kind not in said)
    return different((*own.names, *rest))


def _in_queue(gang: Gang, resolved: Resolved) -> Gang:
    return replace(
        gang,
        queue=resolved.ref,
        class_priority=resolved.class_priority,
        local_queue=resolved.local,
        problem=gang.problem or resolved.problem,
    )
