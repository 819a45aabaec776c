"""The room and quota of all workloads that were let start, as long as pods are waited for."""

from collections.abc import Callable, Iterable

from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.changes import Change
from gang_scheduler.state.gangs.gang_queue import GangQueue
from gang_scheduler.state.pod_store import PodStore
from gang_scheduler.state.suspended.holds import Hold


class KeptRoom:
    """The holds, by the uid of the workload. All times are in seconds.

    Pods are waited for as long as `timeout_seconds` after the start.
    """

    def __init__(
        self,
        timeout_seconds: int,
        gang_queue: GangQueue,
        pod_store: PodStore,
        note: Callable[[Change], None],
    ) -> None:
        self.holds: dict[str, Hold] = {}
        self._timeout_seconds = timeout_seconds
        self._gang_queue = gang_queue
        self._pod_store = pod_store
        self._note = note

    def keep(self, hold: Hold) -> None:
        """Wait for the pods of a workload."""
        self.holds[hold.workload.uid] = hold
        for key in hold.gangs:
            self._gang_queue.await_pods(key, awaits=True)

    def begin_to_wait(self, hold: Hold, now: int) -> None:
        """Note that the API server has taken the start of a workload."""
        if hold.until is None:
            hold.until = now + self._timeout_seconds

    def took_over(self, hold: Hold, pod: Pod) -> bool:
        """Let a pod take over the plan of a member; return whether none is waited for any more."""
        bind = hold.take_over(pod)
        if bind is None:
            return False
        # First the pod: the room must never be free in between.
        self._note(self._pod_store.nominate(pod.uid, bind.node, bind.flavors))
        self._note(self._pod_store.delete(bind.pod.uid))
        for key in hold.released:
            self._gang_queue.await_pods(key, awaits=False)
        if hold.binds:
            return False
        self.end(hold)
        return True

    def displaced(self, uid: str) -> None:
        """Note that the room of a planned member goes to a higher priority: its pod will wait."""
        for hold in list(self.holds.values()):
            if hold.binds.pop(uid, None) is not None:
                self._note(self._pod_store.delete(uid))
                if not hold.binds:
                    self.end(hold)

    def take_overdue(self, now: int) -> list[Hold]:
        """Return the holds of which the pods have not come in time, which end with that."""
        times = [(each.deadline, each) for each in self.holds.values()]
        late = [each for deadline, each in times if deadline is not None and deadline <= now]
        for hold in late:
            self.end(hold)
        return late

    def next_deadline(self) -> int | None:
        """Return when the pods of the next workload must be there."""
        deadlines = (each.deadline for each in self.holds.values())
        return min((each for each in deadlines if each), default=None)

    def end(self, hold: Hold) -> None:
        """Keep no room any more for pods that have not come."""
        self.holds.pop(hold.workload.uid, None)
        for uid in hold.binds:
            self._note(self._pod_store.delete(uid))
        for key in hold.gangs:
            self._gang_queue.await_pods(key, awaits=False)
        self._note(Change.GANGS_TOUCHED)

    def end_of(self, uid: str) -> None:
        """Do so for a workload, if room is kept for it."""
        hold = self.holds.get(uid)
        if hold is not None:
            self.end(hold)

    def nominate(self, binds: Iterable[Bind]) -> None:
        """Let pods, planned or there, have their nodes and flavors."""
        for bind in binds:
            self._note(self._pod_store.nominate(bind.pod.uid, bind.node, bind.flavors))
