"""Workloads that wait suspended: gangs of virtual pods in the queue of gangs."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from gang_scheduler.decode.cluster import PreemptionPolicy, Priorities, PriorityClass, priorities_of
from gang_scheduler.decode.gangs.specs import SuspendedWorkload, VirtualGang
from gang_scheduler.model.causes.queues import GangShared
from gang_scheduler.model.pods import Pod, VirtualPods
from gang_scheduler.model.queues import Product
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, QueueNameKind
from gang_scheduler.model.suspended import ManagedWorkload, Suspended
from gang_scheduler.state.changes import Change
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.pods import PodStore
from gang_scheduler.state.queues.declared import DeclaredQueues
from gang_scheduler.state.queues.usage import QueueUsageStore
from gang_scheduler.state.suspended import admitted_room
from gang_scheduler.state.suspended.admitted_room import Hold, Rests
from gang_scheduler.state.suspended.owned_workloads import StartedWorkloads
from gang_scheduler.state.suspended.virtual_pods import VirtualPodStore

# Priorities that pods of templates will have, by their PriorityClass, as the API server sets them.
# Pods already have their priority, but templates have only the name of the class.


class PriorityClasses:
    """All PriorityClasses, by uid."""

    def __init__(self) -> None:
        self.by_uid: dict[str, PriorityClass] = {}
        self._known: Priorities | None = None

    def upsert(self, found: PriorityClass) -> bool:
        """Add or replace a class; return whether it has changed."""
        uid = found.metadata.uid
        before = self.by_uid.get(uid)
        self.by_uid[uid] = found
        self._known = None
        return before is None or _said(before) != _said(found)

    def delete(self, uid: str) -> bool:
        """Forget a PriorityClass; return whether it was known."""
        self._known = None
        return self.by_uid.pop(uid, None) is not None

    def applied(self, gang: VirtualGang) -> VirtualGang:
        """Return members with the priorities of their classes."""
        pods = [self._with_priority(pod) for pod in gang.pods.prototypes]
        if all(after is before for after, before in zip(pods, gang.pods.prototypes, strict=True)):
            return gang
        return gang._replace(pods=gang.pods.with_prototypes(pods))

    def _with_priority(self, pod: Pod) -> Pod:
        if self._known is None:
            self._known = priorities_of(self.by_uid.values())
        named = pod.priority_class
        found = self._known.by_name.get(named) if named else self._known.default
        if found is None or (pod.priority and not named):
            return pod
        preempts = pod.preempts and found.preemption_policy is not PreemptionPolicy.NEVER
        name = named or found.metadata.name
        return replace(pod, priority=found.value, priority_class=name, preempts=preempts)


def _said(found: PriorityClass) -> tuple[object, ...]:
    return found.metadata.name, found.value, found.global_default, found.preemption_policy


MOST_MADE: Final = 100_000
"""At most this many virtual pods are kept from cycle to cycle; others are made when needed."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A waiting workload. Members of its `planned` gangs are in the store of pods."""

    said: SuspendedWorkload
    gangs: dict[GangKey, VirtualGang]
    planned: dict[GangKey, tuple[str, ...]] = field(default_factory=dict)


class WaitingWorkloads:
    """The descriptions of suspended workloads, and the waiting ones among them, by uid.

    `kinds` are the managed kinds. `holds` are the holds of started workloads, by uid. Each method
    that changes something reports its meaning for gangs to `note`.
    """

    def __init__(
        self,
        kinds: Collection[str],
        schedulers: frozenset[str],
        *,
        gang_queue: GangQueue,
        pod_store: PodStore,
        virtual_pods: VirtualPodStore,
        queue_usage: QueueUsageStore,
        queues: DeclaredQueues,
        started: StartedWorkloads,
        holds: Mapping[str, Hold],
        note: Callable[[Change], None],
    ) -> None:
        self.priorities = PriorityClasses()
        self.rests = Rests()
        self._kinds = kinds
        self._schedulers = schedulers
        self._gang_queue = gang_queue
        self._pod_store = pod_store
        self._virtual_pods = virtual_pods
        self._queue_usage = queue_usage
        self._queues = queues
        self._started = started
        self._holds = holds
        self._note = note
        self._said: dict[str, SuspendedWorkload] = {}
        self._waiting: dict[str, Waiting] = {}
        self._leaving: set[str] = set()
        # By the uid of a workload: the uid of another workload that already has the gang of its
        # members.
        self._shared: dict[str, str] = {}
        self._judged: object = None

    # Events.

    def upsert(self, uid: str, said: SuspendedWorkload) -> None:
        """Put a suspended workload in line, if this scheduler may start it."""
        self._said[uid] = said
        self.show(uid)

    def delete(self, uid: str) -> None:
        """Forget a workload that is gone or no longer suspended."""
        self._said.pop(uid, None)
        self._separate(uid)
        self._withdraw(uid)

    def settle(self) -> None:
        """Put workloads in line that this scheduler may start now, and take others out of it.

        Also limits the number of virtual pods.
        """
        judged = (self._queues.enforced, self._queues.served, self._queues.queue_set() is None)
        if judged != self._judged:
            self._judged = judged
            self.show_all()
        for uid in list(self._leaving):
            self.show(uid)
        gangs = [each for one in self._waiting.values() for each in one.gangs.values()]
        if sum([each.pods.made for each in gangs]) > MOST_MADE:
            for each in gangs:
                each.pods.release()
            waiting = (key for one in self._waiting.values() for key in one.gangs)
            self._gang_queue.release_members(waiting)

    def show_all(self) -> None:
        """Look at all suspended workloads again."""
        for uid in list(self._said):
            self.show(uid)

    def show(self, uid: str) -> None:
        """Put a workload's present description into the queue; an unchanged one keeps waiting."""
        said = self._said.get(uid)
        self._leaving.discard(uid)
        if said is None or uid in self._holds:
            # Its description is written later than the decision to start it, so it may be outdated.
            self._separate(uid)
            return
        is_ours = self._is_ours(said)
        if is_ours and not self._has_pods(said):
            self._line_up(uid, said)
            return
        if is_ours:
            # If it were started now, its controller might never see the suspension, and end no pod.
            self._leaving.add(uid)
        self._separate(uid)
        self._withdraw(uid)

    def _line_up(self, uid: str, said: SuspendedWorkload) -> None:
        """Let a workload wait, or refuse it if another one already has a gang of its."""
        gangs = {each.key: self.priorities.applied(each) for each in said.gangs}
        if uid in self._shared:
            if self._first_with(gangs) == self._shared[uid]:
                return
            self._separate(uid)
        known = self._waiting.get(uid)
        if known is not None and _are_alike(known, said, gangs):
            known.said = said
            self._note_gangs(known)
            return
        self._withdraw(uid)
        first = self._first_with(gangs)
        if first is not None:
            # A user may write a thousand of them: the first one is enough to name.
            is_refused = first in self._shared.values()
            self._shared[uid] = first
            if not is_refused:
                self._refuse(self._waiting[first], said.workload)
            return
        waiting = self._waiting[uid] = Waiting(said, {})
        for key, gang in gangs.items():
            waiting.gangs[key] = gang._replace(pods=self._virtual_pods.put(key, gang.pods))
        self._started.name(gangs, uid)
        self._note_gangs(waiting)
        for key in gangs:
            for each in self._virtual_pods.uids_of(key):
                self._queue_usage.touch(each)
        self._note(Change.GANGS_TOUCHED)

    def _first_with(self, gangs: Iterable[GangKey]) -> str | None:
        """Return the waiting workload that has one of these gangs; None if none has."""
        return next(
            (each for each in map(self._started.named, gangs) if each in self._waiting), None
        )

    # Decisions.

    def get(self, uid: str) -> Waiting | None:
        """Return a waiting workload; None if it does not wait."""
        return self._waiting.get(uid)

    def said(self, uid: str) -> SuspendedWorkload | None:
        """Return the description of a suspended workload, if it names a queue."""
        return self._said.get(uid)

    def plan(self, waiting: Waiting, key: GangKey) -> Mapping[str, int]:
        """Create a gang's members as single pods; return the template's index by a member's uid."""
        pods = self._virtual_pods.members(key) or waiting.gangs[key].pods
        if key not in waiting.planned:
            waiting.gangs[key] = waiting.gangs[key]._replace(pods=pods)
            self._forget_virtual_pods(key)
            suspended = Suspended(waiting.said.workload, waiting.gangs[key].templates)
            self._gang_queue.upsert_virtual(key, None, suspended)
            for pod in pods:
                self._note(self._pod_store.upsert(pod))
            waiting.planned[key] = tuple(pod.uid for pod in pods)
        return admitted_room.templates_of(pods, (slot.prototype for slot in pods.slots))

    def begin(self, waiting: Waiting) -> None:
        """Stop waiting: the workload is started."""
        for key in waiting.gangs:
            # Members without a place are surplus, whose pods will wait.
            self._unplan(waiting, key)
        del self._waiting[waiting.said.workload.uid]

    # Workloads that wait.

    def _refuse(self, waiting: Waiting, other: ManagedWorkload) -> None:
        """Refuse a workload with members in a gang that belongs to another suspended workload.

        It is unclear which of both has the quorum, and each of them is started on its own.
        """
        cause = GangShared(str(waiting.said.workload), str(other))
        problem = Problem(Reason.INVALID_SPEC, cause)
        for key, gang in waiting.gangs.items():
            self._unplan(waiting, key)
            pods = [replace(pod, problem=problem) for pod in gang.pods.prototypes]
            members = self._virtual_pods.put(key, gang.pods.with_prototypes(pods))
            waiting.gangs[key] = gang._replace(pods=members)
        self._note_gangs(waiting)
        self._note(Change.GANGS_TOUCHED)

    def _separate(self, uid: str) -> None:
        """Note that a workload shares its gang with no other one; judge that other one again.

        Does nothing if the workload shared no gang, or if further workloads still share it.
        """
        first = self._shared.pop(uid, None)
        if first is not None and first not in self._shared.values():
            self._withdraw(first)
            self.show(first)

    def _note_gangs(self, waiting: Waiting) -> None:
        """Report the waiting gangs of a workload to the queue of gangs."""
        workload, rests = waiting.said.workload, self.rests.until(waiting.said.workload.uid)
        for key, gang in waiting.gangs.items():
            pods = None if key in waiting.planned else self._virtual_pods.members(key)
            suspended = Suspended(workload, gang.templates)
            self._gang_queue.upsert_virtual(key, pods, suspended, rests_until=rests)

    def _withdraw(self, uid: str) -> None:
        """Take a workload out of the line."""
        waiting = self._waiting.pop(uid, None)
        if waiting is None:
            return
        for key in waiting.gangs:
            self._unplan(waiting, key)
            self._forget_virtual_pods(key)
            self._gang_queue.upsert_virtual(key, None, None)
        self._started.unname(waiting.gangs, uid)
        self._note(Change.GANGS_TOUCHED)
        for other in [each for each, first in self._shared.items() if first == uid]:
            del self._shared[other]
            self.show(other)

    def _has_pods(self, said: SuspendedWorkload) -> bool:
        """Return whether a suspended workload has pods that are not about to go."""
        pods = self._started.pods_in(said.workload, (each.key for each in said.gangs))
        return any(pod.living or (said.awaits_ends and not pod.terminal) for pod in pods)

    def _is_ours(self, said: SuspendedWorkload) -> bool:
        if said.workload.kind not in self._kinds:
            return False
        prototypes = (pod for gang in said.gangs for pod in gang.pods.prototypes)
        if not all(pod.scheduler in self._schedulers for pod in prototypes):
            return False
        names = [each for each in said.names if self._gang_queue.queues.names.counts(each)]
        kueues = any(each.kind is QueueNameKind.LOCAL_QUEUE for each in names)
        # While its own controller runs, that controller starts workloads.
        return bool(names) and not (kueues and Product.KUEUE not in self._queues.enforced)

    def _forget_virtual_pods(self, key: GangKey) -> None:
        for each in self._virtual_pods.remove(key):
            self._queue_usage.touch(each)

    def _unplan(self, waiting: Waiting, key: GangKey) -> None:
        hold = self._holds.get(waiting.said.workload.uid)
        for uid in waiting.planned.pop(key, ()):
            if hold is None or uid not in hold.binds:
                self._note(self._pod_store.delete(uid))


def _are_alike(
    known: Waiting, said: SuspendedWorkload, gangs: Mapping[GangKey, VirtualGang]
) -> bool:
    """Return whether a workload would have the same members as before."""
    return known.said.gangs == said.gangs and all(
        _priorities(known.gangs[key].pods) == _priorities(gang.pods) for key, gang in gangs.items()
    )


def _priorities(pods: VirtualPods) -> list[tuple[int, bool]]:
    return [(pod.priority, pod.preempts) for pod in pods.prototypes]
