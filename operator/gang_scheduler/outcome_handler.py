"""Handles the outcomes of writes: counts them in the state, and reports them to users."""

import asyncio
import time
from collections.abc import Callable, Sequence

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.forced_deletions import PartialGangs
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.outcomes import (
    AdmissionFailed,
    AdmissionWritten,
    ClaimsAwaited,
    EvictionBegun,
    GangBinding,
    Outcomes,
    PreemptionFailed,
    VictimsGone,
    VictimStuck,
    WorkloadSuspended,
    WriteOutcome,
    count_binding,
)
from gang_scheduler.internal_errors import confined
from gang_scheduler.model.causes.gangs import PreemptionGivenUp
from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Preemption, Refused
from gang_scheduler.model.reasons import Cause, Reason
from gang_scheduler.model.suspended import Admission
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.gang_metrics import Measures
from gang_scheduler.report.workload_events import WorkloadEvents
from gang_scheduler.state.cache import Cache


class OutcomeHandler:
    """Takes outcomes from their queue: as they come, and all present ones before a snapshot.

    Otherwise a cycle could decide on a gang whose failed binding is not counted yet.
    """

    def __init__(
        self,
        cache: Cache,
        outcomes: Outcomes,
        gang_events: GangEvents,
        measures: Measures,
        *,
        partial_gangs: PartialGangs | None,
        lost_nominations: LostNominations,
        workload_events: WorkloadEvents,
        naming: Naming,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._outcomes = outcomes
        self._gang_events = gang_events
        self._measures = measures
        self._partial_gangs = partial_gangs
        self._lost_nominations = lost_nominations
        self._workload_events = workload_events
        self._naming = naming
        self._clock = clock

    async def run(self) -> None:
        """Handle every outcome at once, until cancelled."""
        while True:
            self._take(await self._outcomes.next())

    def take_in(self) -> None:
        """Handle all outcomes that are in the queue."""
        for outcome in self._outcomes.take_all():
            self._take(outcome)

    def _take(self, outcome: WriteOutcome) -> None:
        match outcome:
            case GangBinding():
                with confined("settle", str(outcome.gang.key)):
                    self._bound(outcome)
            case EvictionBegun(preemption, evicted):
                with confined("preempt", _gangs(preemption)):
                    self._evicting(preemption, evicted)
            case PreemptionFailed(preemption, why):
                with confined("take back", _gangs(preemption)):
                    self._given_up(preemption, why)
            case VictimsGone(gangs, seconds):
                with confined("report", _names(gangs)):
                    self._measures.victims_gone(seconds)
            case ClaimsAwaited(gang, reason, cause):
                with confined("report", str(gang.key)):
                    self._gang_events.waits_for_claims(gang, reason, cause)
            case VictimStuck(key, victim):
                with confined("report", str(key)):
                    self._gang_events.victim_is_stuck(key, victim)
            case AdmissionWritten(admission):
                with confined("settle", admission.workload):
                    self._admitted(admission)
            case AdmissionFailed(admission, why):
                with confined("settle", admission.workload):
                    self._not_admitted(admission, why)
            case WorkloadSuspended(suspension):
                with confined("report", suspension.workload):
                    self._workload_events.suspended(suspension)

    def _admitted(self, admission: Admission) -> None:
        with confined("report", admission.workload):
            self._workload_events.admitted(admission)
        self._cache.suspended.admitted(admission.workload.uid, int(self._clock()))

    def _not_admitted(self, admission: Admission, why: Cause) -> None:
        with confined("report", admission.workload):
            self._workload_events.not_admitted(admission, why)
        self._cache.suspended.not_admitted(admission.workload.uid, why, int(self._clock()))

    def _bound(self, binding: GangBinding) -> None:
        with confined("report", str(binding.gang.key)):
            self._gang_events.bound(binding)
            seconds = asyncio.get_running_loop().time() - binding.submitted_at
            self._measures.bound(binding, seconds)
        now = int(self._clock())
        count_binding(self._cache, binding, now)
        if not binding.failed:
            self._lost_nominations.over(binding.gang.key)
            return
        if binding.refused:
            times = self._cache.decisions.failed_binds(binding.gang.key)
            self._lost_nominations.refused(binding.gang, times, now, in_part=binding.is_in_part)
        if self._partial_gangs is not None:
            self._partial_gangs.consider([binding.refusal()], now)

    def _evicting(self, preemption: Preemption, evicted: int) -> None:
        """Note the preemptor with the victims' gangs, and report it: all victims are marked."""
        if preemption.to_start_anew:
            self._starts_anew(preemption)
            return
        for key in {victim.gang for victim in preemption.victims}:
            by = self._naming.preemptor(preemption, key.namespace)
            self._cache.decisions.preempted(key, by)
        with confined("report", _gangs(preemption)):
            self._gang_events.preempted(preemption)
            self._measures.preempted(preemption, evicted)

    def _starts_anew(self, preemption: Preemption) -> None:
        """Note that a gang is evicted whole for its own sake, and report it."""
        (gang,) = preemption.gangs
        self._cache.decisions.preempted(gang.key, str(gang.key))
        with confined("report", str(gang.key)):
            self._gang_events.starts_anew(preemption)
            self._measures.lost(preemption)

    def _given_up(self, preemption: Preemption, why: Cause) -> None:
        """Note why the gangs still wait; they are tried again."""
        with confined("report", _gangs(preemption)):
            self._measures.withdrawn()
            self._gang_events.withdrawn(preemption, why)
        now = int(self._clock())
        for gang in preemption.gangs:
            if gang.key in self._cache.gang_queue.infos:
                cause = PreemptionGivenUp(why)
                refused = Refused(gang, Reason.UNSCHEDULABLE, gang.pending, cause=cause)
                self._cache.decisions.refused(refused, now)


def _gangs(preemption: Preemption) -> str:
    return _names(preemption.gangs)


def _names(gangs: Sequence[Gang]) -> str:
    return ", ".join(str(gang.key) for gang in gangs) or "no gang"
