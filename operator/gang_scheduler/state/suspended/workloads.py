"""Suspended workloads: which of them wait, which were started, and which objects must be written.

A waiting workload is a gang of virtual pods in the queue of gangs. When a plan has room for it, the
plans of the virtual pods keep room and quota until the controller has created the real pods. Each
real pod takes over the plan of one member.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gang_scheduler.decode.gangs.specs import GangObject, Managed, Planned
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Bind, Placed, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey, QueueName
from gang_scheduler.model.rules import WorkloadRules
from gang_scheduler.model.suspended import (
    Admission,
    ManagedWorkload,
    Suspended,
    SuspendedFor,
    Suspension,
)
from gang_scheduler.state.changes import Change
from gang_scheduler.state.gangs.decisions import Decisions
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.pods import PodStore
from gang_scheduler.state.queues.declared import DeclaredQueues
from gang_scheduler.state.queues.usage import QueueUsageStore
from gang_scheduler.state.suspended import admitted_room
from gang_scheduler.state.suspended.admitted_room import AdmittedRoom, Hold, late_members
from gang_scheduler.state.suspended.owned_workloads import OwnedWorkloads, StartedWorkloads
from gang_scheduler.state.suspended.virtual_pods import VirtualPodStore
from gang_scheduler.state.suspended.waiting import Waiting, WaitingWorkloads

# Continues the work of an earlier process: workloads that it started and that still lack pods. The
# workload itself says when it was started and where its members were to go.


class Resumed(NamedTuple):
    """The room that is kept for members without pods, and the plans that pods took over.

    `nominated` are waiting pods, each with its plan.
    """

    hold: Hold
    nominated: tuple[tuple[Pod, Bind], ...]


def resuming_of(
    managed: Managed, planned: Planned, pods: Iterable[Pod], timeout: int, now: int
) -> Resumed | None:
    """Return the start to resume; None for a workload that runs, and may have lost pods since.

    `planned` are the members, with their priorities; `pods` are all existing pods. If the time for
    creating pods is over, it begins once more, because pods may be created again, like those of a
    JobSet that restarts. If the workload runs by then, only its late members are awaited, and only
    if none of them exists. `timeout` and `now` are in seconds.
    """
    until = min(managed.admitted_at, now) + timeout
    # Pods that are leaving may belong to an earlier start.
    came = (pod for pod in pods if not pod.deleting)
    there = sorted(came, key=lambda pod: (not pod.node, pod.created_at, pod.uid))
    keys = (each.key for each in planned.gangs)
    hold = Hold(
        managed.workload, keys, _binds(planned), late_members(planned.gangs), managed.at_once
    )
    taken = [(pod, bind) for pod in there if (bind := hold.take_over(pod)) is not None]
    if until <= now:
        until = now + timeout
        if any(pod.node for pod in there):
            hold.keep_late()
            taken = []
        if not hold.binds:
            return None
    hold.until = until
    return Resumed(hold, tuple((pod, bind) for pod, bind in taken if pod.living and not pod.node))


def _binds(planned: Planned) -> Iterator[Bind]:
    members = (pod for gang in planned.gangs for pod in gang.pods)
    for pod, node in zip(members, planned.nodes, strict=True):
        if node:
            yield Bind(pod, node, flavors=planned.flavors)


class KeptBack(NamedTuple):
    """Why a suspended workload stays suspended and waits in no queue here.

    `by_kind`: its kind is not managed. `names_none`: it names no queue. `absent`: the product of
    its queue is not installed. `schedulers`: its pods would be for these other schedulers.
    """

    by_kind: bool
    names_none: bool
    absent: QueueName | None
    schedulers: frozenset[str]


class SuspendedWorkloads:
    """All workloads that wait suspended or were started, by uid.

    Each method that changes something reports its meaning for gangs to `note`.
    """

    def __init__(
        self,
        rules: WorkloadRules,
        schedulers: frozenset[str],
        *,
        gang_queue: GangQueue,
        pod_store: PodStore,
        virtual_pods: VirtualPodStore,
        queue_usage: QueueUsageStore,
        queues: DeclaredQueues,
        note: Callable[[Change], None],
    ) -> None:
        self.rules = rules
        self._schedulers = schedulers
        self._gang_queue = gang_queue
        self._pod_store = pod_store
        self._queues = queues
        self._note = note
        self._owned = OwnedWorkloads()
        self._started = StartedWorkloads(gang_queue, self._owned)
        self._room = AdmittedRoom(rules.pods_timeout_seconds, gang_queue, pod_store, note)
        self.holds = self._room.holds
        """The room of started workloads, as long as pods are awaited."""
        self._waiting = WaitingWorkloads(
            *(rules.manage_jobs, schedulers),
            gang_queue=gang_queue,
            pod_store=pod_store,
            virtual_pods=virtual_pods,
            queue_usage=queue_usage,
            queues=queues,
            started=self._started,
            holds=self.holds,
            note=note,
        )
        self.priorities = self._waiting.priorities
        self._has_resumed = False

    # Events.

    def upsert(self, described: GangObject) -> None:
        """Store the state of a workload: it waits, it was started, or neither."""
        for each in self._owned.upsert(described):
            self._take_in(each)
        owned = described.owned
        if owned is not None and owned.owner in self.holds:
            for pod in self._started.members_of(owned.keys):
                self.pod_created(pod)

    def _take_in(self, described: GangObject) -> None:
        uid, said = described.uid, described.suspended
        if said is not None:
            self._end_former(uid, said.workload)
            self._started.remove(uid, is_held=uid in self.holds)
            self._waiting.upsert(uid, said)
        elif described.managed is not None:
            self._manage(uid, described.managed)
            self._waiting.delete(uid)
        else:
            self._forget(uid)

    def delete(self, uid: str) -> None:
        """Forget a workload that is gone."""
        owner = self._owned.delete(uid)
        if owner is not None:
            self._take_in(owner)
        self._forget(uid)

    def settle(self, now: int) -> None:
        """Put workloads in line that this scheduler may start now, and take others out of it.

        Also limits the number of virtual pods. The first call continues the work of an earlier
        process; `now` is in seconds.
        """
        if not self._has_resumed:
            self._has_resumed = True
            for managed in self._started.take_planned():
                self._resume(managed, now)
            self._owned.has_resumed()
        self._waiting.settle()

    def priorities_changed(self) -> None:
        """Compute the priorities of all members again."""
        self._waiting.show_all()

    def pod_created(self, pod: Pod) -> None:
        """Let a pod of a started workload take over the plan of a member."""
        if not self.holds or pod.virtual or pod.node or pod.scheduler not in self._schedulers:
            return
        hold = self.holds.get(self._started.uid_of(pod))
        if hold is None or hold.workload.namespace != pod.namespace:
            return
        if self._room.took_over(hold, pod):
            self._waiting.rests.forget(hold.workload.uid)

    # Decisions.

    def place(self, placed: Sequence[Placed]) -> Admission | None:
        """Keep room and quota for gangs of one workload.

        Once all its gangs are placed, return the patch to write; until then the workload waits.
        """
        first = placed[0].gang.suspended
        waiting = None if first is None else self._waiting.get(first.workload.uid)
        if waiting is None:
            return None
        templates: dict[str, int] = {}
        for each in placed:
            templates |= self._waiting.plan(waiting, each.gang.key)
            self._room.nominate(each.binds)
        keys = {each.gang.key for each in placed}
        if keys < waiting.gangs.keys():
            return None
        return self._begin(waiting, placed, templates)

    def nominate(self, gangs: Iterable[Gang]) -> None:
        """Create the members of these gangs' workloads as single pods: room is made for them.

        All gangs of a workload start together.
        """
        for gang in gangs:
            if gang.suspended is not None:
                waiting = self._waiting.get(gang.suspended.workload.uid)
                if waiting is not None and gang.key in waiting.gangs:
                    for key in waiting.gangs:
                        self._waiting.plan(waiting, key)

    # Outcomes.

    def displaced(self, uid: str) -> None:
        """Note that a planned member's room goes to a higher priority, so its pod will wait."""
        self._room.displaced(uid)

    def admitted(self, uid: str, now: int) -> None:
        """Note that the API server has accepted the start of a workload."""
        hold = self.holds.get(uid)
        if hold is not None:
            self._room.begin_to_wait(hold, now)

    def not_admitted(self, uid: str, why: Cause, now: int) -> None:
        """Note why a workload could not be started: it waits as before, and is tried later."""
        hold = self.holds.get(uid)
        if hold is None:
            return
        self._room.end(hold)
        self._waiting.show(uid)
        for key in hold.gangs:
            info = self._gang_queue.infos.get(key)
            if info is not None and info.suspended is not None:
                gang = info.as_gang(self._schedulers)
                refused = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, cause=why)
                Decisions(self._gang_queue).bind_failed(refused, now)

    def overdue(self, now: int) -> tuple[Suspension, ...]:
        """Return the workloads whose pods were not created in time, and free their room."""
        late = (hold.workload for hold in self._room.take_overdue(now))
        # A workload that already runs with some of its pods continues.
        vain = [each for each in late if not self._has_bound_pods(each)]
        for workload in vain:
            self._waiting.rests.begin(workload.uid, now)
        return tuple(Suspension(each, SuspendedFor.PODS_MISSING) for each in vain)

    def next_deadline(self) -> int | None:
        """Return when the pods of the next workload must exist, in seconds."""
        return self._room.next_deadline()

    def workload_of(self, pod: Pod) -> ManagedWorkload | None:
        """Return the started workload of a pod; None if it has none."""
        return self._started.workload_of(pod)

    def pods_of(self, workload: ManagedWorkload) -> Iterator[Pod]:
        """Yield the existing pods of a started workload."""
        return self._started.pods_of(workload)

    def object_of(self, key: GangKey) -> ManagedWorkload | None:
        """Return the workload of a gang that waits suspended; None for any other gang."""
        waiting = self._waiting.get(self._started.named(key))
        return waiting.said.workload if waiting is not None else None

    def kept_back(self, uid: str, kind: str) -> KeptBack:
        """Return the reasons why a suspended workload of a kind may not be started here."""
        said, names = self._waiting.said(uid), self._gang_queue.queues.names
        asked = said.names if said is not None else ()
        counts = any(map(names.counts, asked))
        prototypes = (pod for gang in (said.gangs if said else ()) for pod in gang.pods.prototypes)
        return KeptBack(
            by_kind=kind not in self.rules.manage_jobs,
            names_none=not asked,
            absent=None if counts else next(iter(asked), None),
            schedulers=frozenset(pod.scheduler for pod in prototypes) - self._schedulers,
        )

    def _has_bound_pods(self, workload: ManagedWorkload) -> bool:
        return any(pod.node and pod.living for pod in self.pods_of(workload))

    # Started workloads.

    def _begin(
        self, waiting: Waiting, placed: Sequence[Placed], templates: Mapping[str, int]
    ) -> Admission:
        workload = waiting.said.workload
        binds = [bind for each in placed for bind in each.binds]
        late = late_members(waiting.gangs.values())
        self._room.keep(Hold(workload, waiting.gangs, binds, late, waiting.said.at_once))
        self._waiting.begin(waiting)
        members = [pod for gang in waiting.gangs.values() for pod in gang.pods]
        return admitted_room.admission_of(
            workload, placed, templates, self._queues.queue_set(), members
        )

    def _manage(self, uid: str, managed: Managed) -> None:
        """Note that a workload was started, and wait for its pods if room is kept for them."""
        # The plan of an earlier process is needed only until its work has been continued.
        self._started.add(uid, managed._replace(planned=None) if self._has_resumed else managed)
        hold = self.holds.get(uid)
        if hold is None:
            return
        hold.workload = managed.workload
        self._room.begin_to_wait(hold, managed.admitted_at)
        if not hold.is_for(managed.at_once):
            # A user has scaled it down: some of the pods will never be created.
            self._room.end(hold)

    def _forget(self, uid: str) -> None:
        """Forget a workload that neither waits nor was started, and stop keeping room for it."""
        self._waiting.delete(uid)
        self._room.end_of(uid)
        self._started.remove(uid, is_held=False)
        self._waiting.rests.forget(uid)

    def _end_former(self, uid: str, workload: ManagedWorkload) -> None:
        """Stop keeping room for a started workload that is suspended again."""
        hold = self.holds.get(uid)
        version = workload.resource_version
        if hold is not None and hold.until and version != hold.workload.resource_version:
            self._room.end(hold)

    def _resume(self, managed: Managed, now: int) -> None:
        """Keep room and quota for pods that an earlier process waited for."""
        workload = managed.workload
        if workload.kind not in self.rules.manage_jobs or workload.uid in self.holds:
            return
        planned = self._owned.planned_of(managed)
        if planned is None:
            return
        gangs = tuple(map(self.priorities.applied, planned.gangs))
        prototypes = (pod for gang in gangs for pod in gang.pods.prototypes)
        if not all(pod.scheduler in self._schedulers for pod in prototypes):
            return
        planned, timeout = planned._replace(gangs=gangs), self.rules.pods_timeout_seconds
        found = resuming_of(managed, planned, self.pods_of(workload), timeout, now)
        if found is None:
            return
        self._room.nominate(replace(bind, pod=pod) for pod, bind in found.nominated)
        for bind in found.hold.binds.values():
            self._note(self._pod_store.upsert(bind.pod))
        self._room.nominate(found.hold.binds.values())
        if found.hold.binds:
            for gang in gangs:
                suspended = Suspended(workload, gang.templates)
                self._gang_queue.upsert_virtual(gang.key, None, suspended)
            self._room.keep(found.hold)
