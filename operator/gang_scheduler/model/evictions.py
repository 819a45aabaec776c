"""Evictions of gangs: the preemptor, the right to evict, and the memory of past evictions."""

import enum
from dataclasses import dataclass
from typing import Final, NamedTuple

from gang_scheduler.model.api_words import EvictionReason
from gang_scheduler.model.refs import GangKey


class EvictionClass(enum.IntEnum):
    """The right by which a gang takes the quota or the room of another; lower classes go first.

    Classes exist only with queues. Without queues, priority decides.
    """

    OVERRUN = 0
    """The victim was started early because of its declared end, and that time has passed."""
    RECLAIM = 1
    """The victim's queue uses more than its promise; the preemptor's stays within its own."""
    IN_QUEUE = 2
    """Both are in the same queue."""
    WHILE_BORROWING = 3
    """Both queues borrow, and the preemptor has a higher priority."""
    FAIR_SHARE = 4
    """The victim's queue has the larger share, even after the eviction."""
    FAIR_SHARE_AT_FIRST = 5
    """The victim's queue has the larger share, but only before the eviction."""

    @property
    def shown(self) -> str:
        """The name as users see it, in events, metrics and conditions."""
        return _SHOWN[self].value

    @property
    def weight(self) -> int:
        """The weight of a remembered eviction of this class; smaller is stronger.

        The classes by which one borrowing gang evicts another one weigh the same.
        """
        return min(self.value, EvictionClass.WHILE_BORROWING.value)


_SHOWN: Final = {
    EvictionClass.OVERRUN: EvictionReason.OVERRUN,
    EvictionClass.RECLAIM: EvictionReason.RECLAIM,
    EvictionClass.IN_QUEUE: EvictionReason.IN_QUEUE,
    EvictionClass.WHILE_BORROWING: EvictionReason.WHILE_BORROWING,
    EvictionClass.FAIR_SHARE: EvictionReason.FAIR_SHARE,
    EvictionClass.FAIR_SHARE_AT_FIRST: EvictionReason.FAIR_SHARE,
}


class ProtectedBy(enum.StrEnum):
    """The protection of a pod from eviction, apart from its priority and the rules of queues."""

    LABEL = "Label"
    """It has a label that forbids it."""
    POD_GROUP = "PodGroup"
    """The PodGroup of its gang forbids it."""
    JOB = "Job"
    """Evictions could make its Job fail for good."""
    MIN_RUNTIME = "MinRuntime"
    """Its gang has not reached its minimum run time, or has just changed its size."""
    OTHER_SCHEDULER = "OtherScheduler"
    PINNED = "Pinned"
    """Its owner would create it again on the same node."""
    SYSTEM = "System"
    BINDING = "Binding"
    """Its binding is under way."""


@dataclass(frozen=True, slots=True)
class YieldedTo:
    """A gang was evicted for another one, `gang` with that `uid`; `at` is in seconds.

    Without a `uid`, no object describes that gang. `edition` is a digest of both gangs and their
    queues at that time; "" if unknown.
    """

    gang: GangKey
    uid: str
    eviction_class: EvictionClass
    at: int
    edition: str = ""


@dataclass(frozen=True, slots=True)
class Evictions:
    """How often a gang was evicted, the time of the last eviction in seconds, and its preemptors.

    The latest preemptor comes last. A preemptor that evicted the gang several times counts once,
    with its strongest class.
    """

    count: int = 0
    last: int = 0
    yielded: tuple[YieldedTo, ...] = ()


class Forgotten(NamedTuple):
    """An eviction of `gang` for the gang `to` that is no longer remembered."""

    gang: GangKey
    to: GangKey


@dataclass(frozen=True, slots=True)
class Backfilled:
    """A gang may start ahead of the gang `ahead_of` because it will end by `until`, in seconds."""

    until: int
    ahead_of: GangKey


class RunTime(NamedTuple):
    """The run time of pods as one object declares it, in seconds; None if undeclared.

    Pods are ended at the `deadline`, and may run longer than `expected`. The declaration of a Job
    counts from `since`, in seconds since the epoch, once the Job has started.
    """

    deadline: int | None = None
    expected: int | None = None
    since: int = 0


@dataclass(frozen=True, slots=True)
class RunningGang:
    """Facts about a gang with members on nodes, in addition to its pods. Times are in seconds.

    `created_at` is the creation of the gang. `ends_at` is when all members will have ended, as
    declared; None if unknown. `started_at` is the start of its oldest member. `min_runtime` is the
    minimum that the gang requests, within the settings. `class_priority` is the value of its
    WorkloadPriorityClass, None if it names none. `backfilled` comes from its status.
    """

    uid: str = ""
    created_at: float = 0
    started_at: int = 0
    ends_at: int | None = None
    min_runtime: int = 0
    class_priority: int | None = None
    backfilled: Backfilled | None = None


UNKNOWN: Final = RunningGang()
"""A gang without known facts."""
