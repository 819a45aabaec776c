"""Outcomes of writes, as values in one queue.

The binder, the volume binder and the evictor put outcomes there. They do not know which part reads
them.
"""

import asyncio
import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gang_scheduler.model.causes.devices import DeviceNotAttached
from gang_scheduler.model.causes.gangs import BindingFailed, DeviceClaimFailed
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Placed, Preemption, Refused
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.state.cache import Cache

# Members of a gang that are being bound together, with the outcome of each.


class Outcome(enum.StrEnum):
    """How one binding ended."""

    BOUND = "bound"
    GONE = "gone"
    LOST = "lost"
    """The pod is on another node: another scheduler bound it."""
    REFUSED = "refused"
    GAVE_UP = "gave_up"
    WITHOUT_VOLUMES = "without_volumes"
    """Claims of the gang were not bound: no binding was tried."""
    WITHOUT_DEVICES = "without_devices"
    """Claims of the gang did not get their devices: no binding was tried."""


@dataclass(slots=True, eq=False)
class GangBinding:
    """Members of a gang that are being bound. `outcomes` gets the outcome of each, by pod uid.

    `joins`: the gang does not need these members for its quorum. `submitted_at` is the event loop's
    time, in seconds. `begun`: the first binding is being sent, or was sent. `together` are the
    bindings of all gangs that start together, and `kept` the uids of unbound members whose room is
    kept.
    """

    placed: Placed
    plan_id: str
    joins: bool = False
    begun: bool = False
    submitted_at: float = field(default_factory=lambda: asyncio.get_running_loop().time())
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    problem: Cause | None = None
    together: Sequence["GangBinding"] = ()
    kept: list[str] = field(default_factory=list)

    @property
    def gang(self) -> Gang:
        """The gang."""
        return self.placed.gang

    @property
    def pods(self) -> tuple[Pod, ...]:
        """The members."""
        return tuple(bind.pod for bind in self.placed.binds)

    @property
    def done(self) -> bool:
        """Every member has its outcome."""
        return len(self.outcomes) == len(self.placed.binds)

    def refusal(self) -> Refused:
        """Return why members are not bound."""
        bound = {uid for uid, outcome in self.outcomes.items() if outcome is Outcome.BOUND}
        rest = tuple(bind.pod for bind in self.placed.binds if bind.pod.uid not in bound)
        if self.without_volumes:
            return Refused(self.gang, Reason.WAITING_FOR_VOLUMES, rest, cause=self.problem)
        if self.without_devices and isinstance(self.problem, DeviceNotAttached):
            return Refused(self.gang, Reason.WAITING_FOR_DEVICES, rest, cause=self.problem)
        if self.without_devices:
            denied = isinstance(self.problem, DeviceClaimFailed) and self.problem.denied
            reason = Reason.INTERNAL_ERROR if denied else Reason.UNSCHEDULABLE
            return Refused(self.gang, reason, rest, cause=self.problem)
        cause = BindingFailed(len(rest), len(self.outcomes), self.problem)
        gang = replace(self.gang, partially_bound=self.gang.partially_bound or bool(bound))
        return Refused(gang, Reason.UNSCHEDULABLE, rest, cause=cause)

    @property
    def has_bound(self) -> bool:
        """Members of the gang are on nodes, these or others."""
        return self.gang.bound > 0 or self._on_nodes > 0

    @property
    def lacks(self) -> bool:
        """The quorum is not bound."""
        return not self.joins and self._on_nodes < self.gang.quorum

    @property
    def is_in_part(self) -> bool:
        """The quorum is not bound, but other members of the gangs that start together are."""
        return self.lacks and any(each.has_bound for each in self.together)

    @property
    def _on_nodes(self) -> int:
        return sum(each in (Outcome.BOUND, Outcome.LOST) for each in self.outcomes.values())

    @property
    def without_volumes(self) -> bool:
        """Claims of members were not bound, so no member was bound."""
        return Outcome.WITHOUT_VOLUMES in self.outcomes.values()

    @property
    def without_devices(self) -> bool:
        """Claims of members did not get their devices, so no member was bound."""
        return Outcome.WITHOUT_DEVICES in self.outcomes.values()

    @property
    def refused(self) -> bool:
        """The API server refused to bind a member."""
        return Outcome.REFUSED in self.outcomes.values()

    @property
    def failed(self) -> int:
        """How many members were not bound."""
        return sum(outcome is not Outcome.BOUND for outcome in self.outcomes.values())


@dataclass(frozen=True, slots=True)
class EvictionBegun:
    """All victims of a preemption are marked, and those that still run are evicted now."""

    preemption: Preemption
    evicted: int


@dataclass(frozen=True, slots=True)
class PreemptionFailed:
    """A preemption was given up and taken back."""

    preemption: Preemption
    why: Cause


@dataclass(frozen=True, slots=True)
class VictimsGone:
    """The last victim of a preemption is gone, some seconds after the plan."""

    gangs: tuple[Gang, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class ClaimsAwaited:
    """A gang waits longer than usual for its volumes to be bound, or its devices attached."""

    gang: Gang
    reason: Reason
    cause: Cause


@dataclass(frozen=True, slots=True)
class VictimStuck:
    """A pod does not terminate in time, and a gang waits for its room."""

    gang: GangKey
    victim: Pod


@dataclass(frozen=True, slots=True)
class AdmissionWritten:
    """A suspended workload was admitted, and the write that resumes it has succeeded."""

    admission: Admission


@dataclass(frozen=True, slots=True)
class AdmissionFailed:
    """A suspended workload was admitted, but could not be started."""

    admission: Admission
    why: Cause


@dataclass(frozen=True, slots=True)
class WorkloadSuspended:
    """A workload that was admitted is suspended again."""

    suspension: Suspension


WriteOutcome = (
    GangBinding
    | EvictionBegun
    | PreemptionFailed
    | VictimsGone
    | ClaimsAwaited
    | VictimStuck
    | AdmissionWritten
    | AdmissionFailed
    | WorkloadSuspended
)
"""What the queue holds. A GangBinding is put there once all its members have an outcome."""


class Outcomes:
    """A queue of outcomes, oldest first, without a limit: writes do not wait for its readers."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[WriteOutcome] = asyncio.Queue()

    def put(self, outcome: WriteOutcome) -> None:
        """Add an outcome."""
        self._queue.put_nowait(outcome)

    async def next(self) -> WriteOutcome:
        """Wait for an outcome and return it."""
        return await self._queue.get()

    def take_all(self) -> Iterator[WriteOutcome]:
        """Return the outcomes that are there already."""
        while not self._queue.empty():
            yield self._queue.get_nowait()


def count_binding(cache: Cache, binding: GangBinding, now_seconds: int) -> None:
    """Count the outcome of a gang's binding in the state."""
    if binding.failed:
        cache.decisions.bind_failed(binding.refusal(), now_seconds)
    elif binding.joins:
        cache.decisions.surplus_bound(binding.gang, binding.pods)
    else:
        cache.decisions.bound(binding.gang.key)
