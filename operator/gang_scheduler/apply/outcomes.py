"""The outcomes of writes, as values in one queue.

Binder, volume binder and evictor put outcomes there, and do not know what reads them.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from gang_scheduler.apply.binding.gang_binding import GangBinding
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.problems import Cause
from gang_scheduler.model.refs import GangKey
from gang_scheduler.model.suspended import Admission, Suspension
from gang_scheduler.state.cache import Cache


@dataclass(frozen=True, slots=True)
class EvictionBegun:
    """All victims of a preemption are marked, and are evicted now."""

    preemption: Preemption


@dataclass(frozen=True, slots=True)
class PreemptionFailed:
    """A preemption was given up and taken back."""

    preemption: Preemption
    why: Cause


@dataclass(frozen=True, slots=True)
class VolumesAwaited:
    """A gang waits longer than usual for its claims to be bound."""

    gang: Gang
    cause: Cause


@dataclass(frozen=True, slots=True)
class VictimStuck:
    """A pod does not terminate in time, and a gang waits for its room."""

    gang: GangKey
    victim: Pod


@dataclass(frozen=True, slots=True)
class AdmissionWritten:
    """A suspended workload was let start."""

    admission: Admission


@dataclass(frozen=True, slots=True)
class AdmissionFailed:
    """A suspended workload stays suspended, although it was admitted."""

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
    | VolumesAwaited
    | VictimStuck
    | AdmissionWritten
    | AdmissionFailed
    | WorkloadSuspended
)
"""A GangBinding in it is done: every member has its outcome."""


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
        cache.gang_queue.decisions.bind_failed(binding.refusal(), now_seconds)
    elif binding.joins:
        cache.gang_queue.decisions.joined(binding.gang, binding.pods)
    else:
        cache.gang_queue.decisions.bound(binding.gang.key)
