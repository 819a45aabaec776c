"""The room and quota of one workload that was let start, until its pods have taken it over."""

from collections.abc import Iterable, Iterator
from typing import Final

from gang_scheduler.decode.gangs.suspended_workloads import VirtualGang
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import ManagedWorkload

FIRST_REST_SECONDS: Final = 60
LONGEST_REST_SECONDS: Final = 1800


class Hold:
    """Where members are planned that are no pods yet. All times are in seconds.

    `gangs` are those of the workload, and `at_once` is how many pods its spec asked for. `binds`
    are the plans that no pod has taken over yet, by the uid of the member; those in `late` are for
    pods that come only after others, at any time. `until` is when the other pods must be there;
    None as long as the API server has not taken the start of the workload.
    """

    def __init__(
        self,
        workload: ManagedWorkload,
        gangs: Iterable[GangKey],
        binds: Iterable[Bind],
        late: Iterable[str] = (),
        at_once: int = 0,
    ) -> None:
        self.workload = workload
        self.gangs = tuple(gangs)
        self.binds = {bind.pod.uid: bind for bind in binds}
        self._late = frozenset(late) & self.binds.keys()
        self.until: int | None = None
        self._at_once = at_once
        self._taken: set[str] = set()

    def take_over(self, pod: Pod) -> Bind | None:
        """Return the plan that is for a pod, which is no plan any more; None if it has one.

        That of the same rank, if there is one, else one for what asks the same of a node; of such
        plans, one for the node that the pod has.
        """
        if pod.uid in self._taken:
            return None
        known = pod.gang in self.gangs
        suited = (each for each in self.binds.values() if not known or each.pod.gang == pod.gang)
        bind = min(suited, key=lambda each: _differ(each, pod), default=None)
        if bind is not None:
            del self.binds[bind.pod.uid]
            self._taken.add(pod.uid)
        return bind

    def is_for(self, at_once: int) -> bool:
        """Return whether so many pods come as are planned, or more."""
        return at_once >= self._at_once

    def keep_late(self) -> None:
        """Wait for those pods alone that come after others; for none once one of them has come."""
        awaited = self._late if self._late <= self.binds.keys() else frozenset()
        self.binds = {uid: bind for uid, bind in self.binds.items() if uid in awaited}

    @property
    def released(self) -> tuple[GangKey, ...]:
        """The gangs of which all pods are there, once none is missing that comes at once."""
        if self.binds.keys() - self._late:
            return ()
        missing = {bind.pod.gang for bind in self.binds.values()}
        return tuple(each for each in self.gangs if each not in missing)

    @property
    def deadline(self) -> int | None:
        """When pods must be there, in seconds; None if that is not known, or none is missing."""
        return self.until if self.binds.keys() - self._late else None


def late_members(gangs: Iterable[VirtualGang]) -> Iterator[str]:
    """Yield the uids of the members whose pods are created only after others."""
    for gang in gangs:
        for pod, slot in zip(gang.pods, gang.pods.slots, strict=True):
            if gang.templates[slot.prototype].is_late:
                yield pod.uid


def _differ(bind: Bind, pod: Pod) -> tuple[bool, bool, bool, bool, str]:
    """Return a sort key: smaller for a plan that suits a pod better."""
    planned = bind.pod
    return (
        planned.role != pod.role,
        _asks(planned) != _asks(pod),
        bool(planned.rank) and planned.rank != pod.rank,
        bool(pod.node) and pod.node != bind.node,
        planned.uid,
    )


def _asks(pod: Pod) -> tuple[tuple[str, int], ...]:
    return pod.pod_class.requests


class Rests:
    """How long workloads wait whose pods did not come: longer each time."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}
        self._until: dict[str, int] = {}

    def begin(self, uid: str, now: int) -> None:
        """Let a workload rest, twice as long as the last time."""
        number = self._times.get(uid, 0)
        self._until[uid] = now + min(FIRST_REST_SECONDS << number, LONGEST_REST_SECONDS)
        self._times[uid] = min(number + 1, LONGEST_REST_SECONDS.bit_length())

    def until(self, uid: str) -> int:
        """Return until when a workload rests; 0 for one that does not."""
        return self._until.get(uid, 0)

    def forget(self, uid: str) -> None:
        """Forget a workload that is gone, or whose pods have come."""
        self._times.pop(uid, None)
        self._until.pop(uid, None)
