"""Which workloads wait suspended, which were let start, and what is to be written of them.

One that waits is a gang of virtual pods in the queue of gangs. When a plan has room for it these
become members that are planned like others, and keep room and quota until the pods are there that
the controller makes of the workload; each takes over the plan of one member.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gang_scheduler.decode.gangs.gang_objects import GangObject
from gang_scheduler.decode.gangs.suspended_workloads import Managed, SuspendedWorkload, VirtualGang
from gang_scheduler.model.causes.admissions import GangShared
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Cause, Problem, Reason
from gang_scheduler.model.queues import Product
from gang_scheduler.model.refs import GangKey, QueueNameKind
from gang_scheduler.model.suspended import (
    Admission,
    ManagedWorkload,
    Suspended,
    SuspendedFor,
    Suspension,
)
from gang_scheduler.model.virtual_pods import VirtualPods
from gang_scheduler.state.changes import Change
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.pod_store import PodStore
from gang_scheduler.state.queues.declared_queues import DeclaredQueues
from gang_scheduler.state.queues.usage import QueueUsageStore
from gang_scheduler.state.suspended import admission, resuming
from gang_scheduler.state.suspended.holds import Hold, Rests, late_members
from gang_scheduler.state.suspended.parts import Parts, label_key
from gang_scheduler.state.suspended.priorities import PriorityClasses
from gang_scheduler.state.suspended.stand_ins import StandIns

MOST_MADE: Final = 100_000
"""How many virtual pods are kept from cycle to cycle; more are made again when they are needed."""


@dataclass(frozen=True, slots=True)
class ManageRules:
    """What the settings say: the kinds that are managed, and how long pods are waited for."""

    kinds: frozenset[str] = frozenset()
    pods_timeout_seconds: int = 120


DEFAULT_RULES: Final = ManageRules()


@dataclass(slots=True, eq=False)
class _Waiting:
    """A workload that waits. The gangs that are `planned` have members in the store of pods."""

    said: SuspendedWorkload
    gangs: dict[GangKey, VirtualGang]
    planned: dict[GangKey, tuple[str, ...]] = field(default_factory=dict)


class SuspendedWorkloads:
    """All workloads that wait suspended or were let start, by uid.

    Each method that changes something tells `note` what that means for gangs.
    """

    def __init__(
        self,
        rules: ManageRules,
        schedulers: frozenset[str],
        *,
        gang_queue: GangQueue,
        pod_store: PodStore,
        stand_ins: StandIns,
        queue_usage: QueueUsageStore,
        queues: DeclaredQueues,
        note: Callable[[Change], None],
    ) -> None:
        self.rules = rules
        self.priorities = PriorityClasses()
        self._schedulers = schedulers
        self._gang_queue = gang_queue
        self._pod_store = pod_store
        self._stand_ins = stand_ins
        self._queue_usage = queue_usage
        self._queues = queues
        self._note = note
        self._said: dict[str, SuspendedWorkload] = {}
        self._waiting: dict[str, _Waiting] = {}
        self.holds: dict[str, Hold] = {}
        """The room of workloads that were let start, as long as pods are waited for."""
        self._managed: dict[str, Managed] = {}
        self._by_gang: dict[GangKey, str] = {}
        self._rests = Rests()
        self._parts = Parts()
        self._leaving: set[str] = set()
        # By the uid of a workload that of the one in whose gang it would have members.
        self._shared: dict[str, str] = {}
        self._judged: object = None
        self._has_resumed = False

    # What is seen.

    def upsert(self, described: GangObject) -> None:
        """Take in what an object says of itself: that it waits, that it was started, or neither."""
        for each in self._parts.upsert(described):
            self._take_in(each)
        part = described.part
        if part is not None and part.maker in self.holds:
            for pod in self._members_of(part.keys):
                self.came(pod)

    def _take_in(self, described: GangObject) -> None:
        uid = described.uid
        if described.suspended is not None:
            self._end_former(uid, described.suspended.workload)
            self._unmanage(uid)
            self._said[uid] = described.suspended
            self._show(uid)
            return
        self._said.pop(uid, None)
        self._separate(uid)
        hold = self.holds.get(uid)
        if described.managed is None:
            if hold is not None:
                self._end_hold(hold)
            self._unmanage(uid)
            self._rests.forget(uid)
        else:
            # What an earlier process planned is of use only until it is gone on with.
            managed = described.managed
            self._manage(uid, managed._replace(planned=None) if self._has_resumed else managed)
            if hold is not None:
                hold.workload = described.managed.workload
                self._begin_to_wait(hold, described.managed.admitted_at)
        self._withdraw(uid)

    def delete(self, uid: str) -> None:
        """Forget a workload that is gone."""
        maker = self._parts.delete(uid)
        if maker is not None:
            self._take_in(maker)
        self._said.pop(uid, None)
        self._separate(uid)
        self._withdraw(uid)
        hold = self.holds.get(uid)
        if hold is not None:
            self._end_hold(hold)
        self._unmanage(uid)
        self._rests.forget(uid)

    def settle(self, now: int) -> None:
        """Let those workloads wait that are ours by what is declared now, and no others.

        And keep no more virtual pods than is worth it. The first time, what an earlier process had
        begun is gone on with; `now` is in seconds.
        """
        if not self._has_resumed:
            self._has_resumed = True
            for uid, managed in self._managed.items():
                self._resume(managed, now)
                self._managed[uid] = managed._replace(planned=None)
            self._parts.has_resumed()
        judged = (self._queues.enforced, self._queues.served, self._queues.queue_set() is None)
        if judged != self._judged:
            self._judged = judged
            self._show_all()
        for uid in list(self._leaving):
            self._show(uid)
        gangs = [each for one in self._waiting.values() for each in one.gangs.values()]
        if sum([each.pods.made for each in gangs]) > MOST_MADE:
            for each in gangs:
                each.pods.release()
            waiting = (key for one in self._waiting.values() for key in one.gangs)
            self._gang_queue.release_members(waiting)

    def priorities_changed(self) -> None:
        """Find the priorities of all members anew."""
        self._show_all()

    def came(self, pod: Pod) -> None:
        """Let a pod take over the plan of a member, if it is of a workload that was let start."""
        if not self.holds or pod.virtual or pod.node or pod.scheduler not in self._schedulers:
            return
        hold = self.holds.get(self._workload_uid(pod))
        bind = hold.take_over(pod) if hold is not None else None
        if hold is None or bind is None:
            return
        # First the pod: the room must never be free in between.
        self._note(self._pod_store.nominate(pod.uid, bind.node, bind.flavors))
        self._note(self._pod_store.delete(bind.pod.uid))
        for key in hold.released:
            self._gang_queue.await_pods(key, awaits=False)
        if not hold.binds:
            self._rests.forget(hold.workload.uid)
            self._end_hold(hold)

    # What is decided.

    def place(self, placed: Sequence[Placed]) -> Admission | None:
        """Keep room and quota for gangs of one workload; return what is to be written, if all have.

        Gangs of the workload that were not placed keep it waiting.
        """
        first = placed[0].gang.suspended
        waiting = None if first is None else self._waiting.get(first.workload.uid)
        if waiting is None:
            return None
        templates: dict[str, int] = {}
        for each in placed:
            templates |= self._plan(waiting, each.gang.key)
            self._nominate(each.binds)
        keys = {each.gang.key for each in placed}
        if keys < waiting.gangs.keys():
            return None
        return self._begin(waiting, placed, templates)

    def nominate(self, gangs: Iterable[Gang]) -> None:
        """Let members of the workloads of these gangs be planned one by one: room is made for them.

        All gangs of a workload start together.
        """
        for gang in gangs:
            if gang.suspended is not None:
                waiting = self._waiting.get(gang.suspended.workload.uid)
                if waiting is not None and gang.key in waiting.gangs:
                    for key in waiting.gangs:
                        self._plan(waiting, key)

    # What came of it.

    def displaced(self, uid: str) -> None:
        """Note that the room of a planned member goes to a higher priority: its pod will wait."""
        for hold in list(self.holds.values()):
            if hold.binds.pop(uid, None) is not None:
                self._note(self._pod_store.delete(uid))
                if not hold.binds:
                    self._end_hold(hold)

    def admitted(self, uid: str, now: int) -> None:
        """Note that the API server has taken the start of a workload."""
        hold = self.holds.get(uid)
        if hold is not None:
            self._begin_to_wait(hold, now)

    def not_admitted(self, uid: str, why: Cause, now: int) -> None:
        """Note why a workload could not be started: it waits as before, and is tried later."""
        hold = self.holds.get(uid)
        if hold is None:
            return
        self._end_hold(hold)
        self._show(uid)
        for key in hold.gangs:
            info = self._gang_queue.infos.get(key)
            if info is not None and info.suspended is not None:
                gang = info.as_gang(self._schedulers)
                refused = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, cause=why)
                self._gang_queue.bind_failed(refused, now)

    def overdue(self, now: int) -> tuple[Suspension, ...]:
        """Return the workloads whose pods have not come in time; their room is kept no longer."""
        times = [(each.deadline, each) for each in self.holds.values()]
        late = [each for deadline, each in times if deadline is not None and deadline <= now]
        for hold in late:
            self._end_hold(hold)
        # One that runs with those that have come goes on.
        vain = [each for each in late if not self._has_bound_pods(each.workload)]
        for hold in vain:
            self._rests.begin(hold.workload.uid, now)
        return tuple(Suspension(each.workload, SuspendedFor.PODS_MISSING) for each in vain)

    def next_deadline(self) -> int | None:
        """Return when the pods of the next workload must be there, in seconds."""
        deadlines = (each.deadline for each in self.holds.values())
        return min((each for each in deadlines if each), default=None)

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the workload of a pod that was let start; None for a pod of any other."""
        if not self._managed:
            return None
        found = self._managed.get(self._workload_uid(pod))
        return None if found is None else found.workload

    def pods_of(self, workload: ManagedWorkload) -> Iterator[Pod]:
        """Yield the pods of a workload that was let start, as far as they are there."""
        managed = self._managed.get(workload.uid)
        keys = {*(managed.gangs if managed else ()), *self._gang_queue.gangs_of_job(workload.uid)}
        yield from self._members_of(keys | self._parts.gangs_of(workload.uid))

    def _members_of(self, keys: Iterable[GangKey]) -> Iterator[Pod]:
        """Yield the members of gangs that are there."""
        for key in sorted(set(keys) & self._gang_queue.infos.keys()):
            members = [*self._gang_queue.infos[key].observed.members.values()]
            yield from (pod for pod in members if not pod.virtual)

    def _workload_uid(self, pod: Pod) -> str:
        """Return the uid of the workload that a pod is of, if any that is known here has it."""
        found = self._by_gang.get(pod.gang) or self._parts.maker_of(pod.gang)
        if not found and (key := label_key(pod)) is not None:
            found = self._by_gang.get(key) or self._parts.maker_of(key)
        return found or pod.job_uid

    def object_of(self, key: GangKey) -> ManagedWorkload | None:
        """Return the workload of a gang that waits suspended; None for any other gang."""
        waiting = self._waiting.get(self._by_gang.get(key, ""))
        return waiting.said.workload if waiting is not None else None

    def _has_bound_pods(self, workload: ManagedWorkload) -> bool:
        return any(pod.node and pod.living for pod in self.pods_of(workload))

    # Those that wait.

    def _show_all(self) -> None:
        for uid in list(self._said):
            self._show(uid)

    def _show(self, uid: str) -> None:
        """Let a workload wait as it is now; one that is the same as before goes on waiting."""
        said = self._said.get(uid)
        self._leaving.discard(uid)
        self._separate(uid)
        if said is None or uid in self.holds:
            # What was written of it comes back later than what was decided.
            return
        if not self._is_ours(said):
            self._withdraw(uid)
            return
        if self._has_pods(uid, said):
            # Started now, its controller might never see that it was suspended, and end no pod.
            self._leaving.add(uid)
            self._withdraw(uid)
            return
        known = self._waiting.get(uid)
        gangs = {each.key: self.priorities.applied(each) for each in said.gangs}
        if known is not None and _are_alike(known, said, gangs):
            known.said = said
            self._tell(known)
            return
        self._withdraw(uid)
        first = next(
            (each for each in map(self._by_gang.get, gangs) if each in self._waiting), None
        )
        if first is not None:
            self._shared[uid] = first
            self._refuse(self._waiting[first], said.workload)
            return
        waiting = self._waiting[uid] = _Waiting(said, {})
        for key, gang in gangs.items():
            waiting.gangs[key] = gang._replace(pods=self._stand_ins.put(key, gang.pods))
            self._by_gang[key] = uid
        self._tell(waiting)
        for key in gangs:
            for each in self._stand_ins.uids_of(key):
                self._queue_usage.touch(each)
        self._note(Change.GANGS_TOUCHED)

    def _refuse(self, waiting: _Waiting, other: ManagedWorkload) -> None:
        """Let no gang start in which another workload has members that wait suspended, too.

        Which of both has the quorum is not said anywhere, and each is started by itself.
        """
        cause = GangShared(str(waiting.said.workload), str(other))
        problem = Problem(Reason.INVALID_SPEC, cause)
        for key, gang in waiting.gangs.items():
            self._unplan(waiting, key)
            pods = [replace(pod, problem=problem) for pod in gang.pods.prototypes]
            members = self._stand_ins.put(key, gang.pods.with_prototypes(pods))
            waiting.gangs[key] = gang._replace(pods=members)
        self._tell(waiting)
        self._note(Change.GANGS_TOUCHED)

    def _separate(self, uid: str) -> None:
        """Look at a workload anew that had members in the gang of another, or the other way round.

        Nothing is left to be done where it does not wait there any more.
        """
        first = self._shared.pop(uid, None)
        if first is not None and first not in self._shared.values():
            self._withdraw(first)
            self._show(first)

    def _tell(self, waiting: _Waiting) -> None:
        """Tell the queue of gangs what waits."""
        workload, rests = waiting.said.workload, self._rests.until(waiting.said.workload.uid)
        for key, gang in waiting.gangs.items():
            pods = None if key in waiting.planned else self._stand_ins.members(key)
            suspended = Suspended(workload, gang.templates)
            self._gang_queue.upsert_virtual(key, pods, suspended, rests_until=rests)

    def _withdraw(self, uid: str) -> None:
        """Let a workload wait no more."""
        waiting = self._waiting.pop(uid, None)
        if waiting is None:
            return
        for key in waiting.gangs:
            self._unplan(waiting, key)
            self._forget_stand_ins(key)
            self._gang_queue.upsert_virtual(key, None, None)
            if self._by_gang.get(key) == uid and uid not in self._managed:
                del self._by_gang[key]
        self._note(Change.GANGS_TOUCHED)
        for other in [each for each, first in self._shared.items() if first == uid]:
            del self._shared[other]
            self._show(other)

    def _has_pods(self, uid: str, said: SuspendedWorkload) -> bool:
        """Return whether a suspended workload has pods that are not about to go."""
        keys = {*self._gang_queue.gangs_of_job(uid), *self._parts.gangs_of(uid)}
        pods = self._members_of(keys | {each.key for each in said.gangs})
        return any(pod.living for pod in pods)

    def _is_ours(self, said: SuspendedWorkload) -> bool:
        if said.workload.kind not in self.rules.kinds:
            return False
        prototypes = (pod for gang in said.gangs for pod in gang.pods.prototypes)
        if not all(pod.scheduler in self._schedulers for pod in prototypes):
            return False
        names = [each for each in said.names if self._gang_queue.queues.names.counts(each)]
        kueues = any(each.kind is QueueNameKind.LOCAL_QUEUE for each in names)
        # While its own controller runs, it is that which starts workloads.
        return bool(names) and not (kueues and Product.KUEUE not in self._queues.enforced)

    def _forget_stand_ins(self, key: GangKey) -> None:
        for each in self._stand_ins.remove(key):
            self._queue_usage.touch(each)

    # Those that have room.

    def _plan(self, waiting: _Waiting, key: GangKey) -> Mapping[str, int]:
        """Make members of a gang that are planned one by one; return their templates by uid."""
        pods = self._stand_ins.members(key) or waiting.gangs[key].pods
        if key not in waiting.planned:
            waiting.gangs[key] = waiting.gangs[key]._replace(pods=pods)
            self._forget_stand_ins(key)
            suspended = Suspended(waiting.said.workload, waiting.gangs[key].templates)
            self._gang_queue.upsert_virtual(key, None, suspended)
            for pod in pods:
                self._note(self._pod_store.upsert(pod))
            waiting.planned[key] = tuple(pod.uid for pod in pods)
        return admission.templates_of(pods, (slot.prototype for slot in pods.slots))

    def _unplan(self, waiting: _Waiting, key: GangKey) -> None:
        hold = self.holds.get(waiting.said.workload.uid)
        for uid in waiting.planned.pop(key, ()):
            if hold is None or uid not in hold.binds:
                self._note(self._pod_store.delete(uid))

    def _nominate(self, binds: Iterable[Bind]) -> None:
        for bind in binds:
            self._note(self._pod_store.nominate(bind.pod.uid, bind.node, bind.flavors))

    def _begin(
        self, waiting: _Waiting, placed: Sequence[Placed], templates: Mapping[str, int]
    ) -> Admission:
        workload = waiting.said.workload
        binds = [bind for each in placed for bind in each.binds]
        late = late_members(waiting.gangs.values())
        self.holds[workload.uid] = Hold(workload, waiting.gangs, binds, late)
        for key in waiting.gangs:
            # Members without a place are surplus, which waits as pods.
            self._unplan(waiting, key)
            self._gang_queue.await_pods(key, awaits=True)
        del self._waiting[workload.uid]
        members = [pod for gang in waiting.gangs.values() for pod in gang.pods]
        return admission.of(workload, placed, templates, self._queues.queue_set(), members)

    def _resume(self, managed: Managed, now: int) -> None:
        """Keep room and quota for pods that an earlier process waited for."""
        workload = managed.workload
        if workload.kind not in self.rules.kinds or workload.uid in self.holds:
            return
        planned = self._parts.planned_of(managed)
        if planned is None:
            return
        gangs = tuple(map(self.priorities.applied, planned.gangs))
        prototypes = (pod for gang in gangs for pod in gang.pods.prototypes)
        if not all(pod.scheduler in self._schedulers for pod in prototypes):
            return
        timeout = self.rules.pods_timeout_seconds
        planned = planned._replace(gangs=gangs)
        found = resuming.of(managed, planned, self.pods_of(workload), timeout, now)
        if found is None:
            return
        self._nominate(replace(bind, pod=pod) for pod, bind in found.nominated)
        for bind in found.hold.binds.values():
            self._note(self._pod_store.upsert(bind.pod))
        self._nominate(found.hold.binds.values())
        if found.hold.binds:
            self.holds[workload.uid] = found.hold
            for gang in gangs:
                suspended = Suspended(workload, gang.templates)
                self._gang_queue.upsert_virtual(gang.key, None, suspended)
                self._gang_queue.await_pods(gang.key, awaits=True)

    def _begin_to_wait(self, hold: Hold, now: int) -> None:
        if hold.until is None:
            hold.until = now + self.rules.pods_timeout_seconds

    def _end_former(self, uid: str, workload: ManagedWorkload) -> None:
        """Keep no room for a workload that was started, and is suspended again since."""
        hold = self.holds.get(uid)
        version = workload.resource_version
        if hold is not None and hold.until and version != hold.workload.resource_version:
            self._end_hold(hold)

    def _manage(self, uid: str, managed: Managed) -> None:
        """Note that a workload was let start. Its gangs stay known if what it made is gone."""
        before = self._managed.get(uid)
        gangs = dict.fromkeys((*(before.gangs if before is not None else ()), *managed.gangs))
        self._managed[uid] = managed._replace(gangs=tuple(gangs))
        self._by_gang.update(dict.fromkeys(gangs, uid))

    def _unmanage(self, uid: str) -> None:
        """Note that a workload is not ours to suspend, or not any more."""
        managed = self._managed.pop(uid, None)
        if managed is None or uid in self.holds:
            return
        for key in managed.gangs:
            if self._by_gang.get(key) == uid:
                del self._by_gang[key]

    def _end_hold(self, hold: Hold) -> None:
        """Keep no room any more for pods that have not come."""
        self.holds.pop(hold.workload.uid, None)
        for uid in hold.binds:
            self._note(self._pod_store.delete(uid))
        for key in hold.gangs:
            self._gang_queue.await_pods(key, awaits=False)
        self._note(Change.GANGS_TOUCHED)


def _are_alike(
    known: _Waiting, said: SuspendedWorkload, gangs: Mapping[GangKey, VirtualGang]
) -> bool:
    """Return whether a workload would have the members that it is known to have."""
    return known.said.gangs == said.gangs and all(
        _priorities(known.gangs[key].pods) == _priorities(gang.pods) for key, gang in gangs.items()
    )


def _priorities(pods: VirtualPods) -> list[tuple[int, bool]]:
    return [(pod.priority, pod.preempts) for pod in pods.prototypes]
