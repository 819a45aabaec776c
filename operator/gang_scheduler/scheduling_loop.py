"""The scheduling loop: five numbered steps."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import anyio

from gang_scheduler import internal_errors
from gang_scheduler.apply.binder import Binder
from gang_scheduler.apply.evictor import Evictor
from gang_scheduler.apply.forced_deletions import PartialGangs
from gang_scheduler.apply.lost_nominations import LostNominations
from gang_scheduler.apply.plan import BinderAndEvictor, TakenIn, take_in
from gang_scheduler.apply.workloads.starts import Admitter, Suspender
from gang_scheduler.current_work import DecisionTimes
from gang_scheduler.model.plan import Plan
from gang_scheduler.model.reasons import Reason
from gang_scheduler.outcome_handler import OutcomeHandler
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.gang_metrics import Measures
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.policies import Profile
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.set_aside import SHARE_SECONDS
from gang_scheduler.telemetry import metrics
from gang_scheduler.telemetry.logger import Logger

RECOVERY_SECONDS = 1.0
"""How long to wait after a cycle that failed with an internal error."""
PART_SECONDS = 0.05
"""Work that can be done in parts holds up the loop for at most this long at a time."""

log = Logger()


async def always_fresh() -> None:
    """Return at once, for a view that is never outdated."""


class Loop:
    """Turns changes into plans, and plans into bindings and evictions, in batches.

    `starts` are the parts that start and suspend workloads. Another thread adds to
    `decision_times`.
    """

    def __init__(
        self,
        cache: Cache,
        binder: Binder,
        evictor: Evictor,
        gang_events: GangEvents,
        outcomes: OutcomeHandler,
        *,
        measures: Measures,
        partial_gangs: PartialGangs | None,
        lost_nominations: LostNominations,
        starts: tuple[Admitter, Suspender],
        profile: Profile,
        changes: Changes,
        batch_seconds: float,
        clock: Callable[[], float] = time.time,
        fresh: Callable[[], Awaitable[None]] = always_fresh,
    ) -> None:
        self._cache = cache
        self._binder = binder
        self._evictor = evictor
        self._writers = BinderAndEvictor(binder, evictor, *starts)
        self._lost_nominations = lost_nominations
        self._gang_events = gang_events
        self._outcomes = outcomes
        self._measures = measures
        self._partial_gangs = partial_gangs
        self._profile = profile
        self._changes = changes
        self._batch_seconds = batch_seconds
        self._clock = clock
        self._fresh = fresh
        self._last_seconds = 0.0
        self.decision_times = DecisionTimes()

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            # 1. Wait for a change that could help a gang.
            await self._changed()
            with internal_errors.confined("prepare", "all gangs"):
                await self._prepare()
            # Other schedulers may have taken room that still looks free in an old view.
            await self._fresh()
            with internal_errors.confined("cycle", "all gangs") as cycle:
                self._once()
            if cycle.failed:
                await asyncio.sleep(RECOVERY_SECONDS)
                self._changes.cycle.set()

    async def _prepare(self) -> None:
        """Prepare a cycle in parts, with pauses for other tasks; the cycle itself has none."""
        paused = time.perf_counter()
        for _ in self._cache.prepare(int(self._clock())):
            if time.perf_counter() - paused > PART_SECONDS:
                await asyncio.sleep(0)
                paused = time.perf_counter()

    def _once(self) -> None:
        """Run one cycle. An error with one gang does not affect other gangs."""
        # 2. Take a snapshot, with the outcomes of earlier plans.
        self._outcomes.take_in()
        started = time.perf_counter()
        snapshot = self._cache.snapshot(int(self._clock()), whole=False)
        now = snapshot.taken_at
        try:
            # 3. Decide.
            plan = schedule(snapshot, self._profile, begun=self.decision_times.begin)
            plan = self._with_those_set_aside(plan, now)
            # 4. Apply: assumed at once, written in the background.
            taken = self._apply(plan, now)
        except Exception:
            self.decision_times.end()
            groups = (gang.key for group in snapshot.groups for gang in group.gangs)
            self._cache.gang_queue.undecided(groups)
            raise
        # 5. Report.
        self._report(taken, now, time.perf_counter() - started)

    def _with_those_set_aside(self, plan: Plan, now: int) -> Plan:
        """Set groups aside whose decisions take too long; return the plan with their refusals."""
        took = self.decision_times.end()
        for gangs, seconds in took.items():
            if seconds >= SHARE_SECONDS:
                metrics.COSTLY_DECISIONS.inc()
                log.warning("costly_decision", gang=str(gangs[0]), cpu_seconds=round(seconds, 1))
        return self._cache.gang_queue.set_aside.judge(plan, took, now)

    async def _changed(self) -> None:
        """Return some milliseconds after a change, so that a batch has all changes until then."""
        moments = (self._cache.next_retry(), self._cache.suspended.next_deadline())
        known = [each for each in moments if each is not None]
        wait = max(min(known) - self._clock(), 0) if known else None
        with anyio.move_on_after(wait) as waiting:
            await self._changes.cycle.wait()
        if waiting.cancelled_caught:
            return
        # At most half of the time is spent on cycles, however much changes.
        await asyncio.sleep(max(self._batch_seconds, self._last_seconds))
        self._changes.cycle.clear()

    def _apply(self, plan: Plan, now: int) -> TakenIn:
        """Carry out the plan; return it with refusals for gangs on which that failed."""
        self._writers.cycle += 1
        for failure in plan.failures:
            internal_errors.note("decide", failure.group.name, failure.error)
        taken = take_in(
            self._cache, plan, now, lost_nominations=self._lost_nominations, writers=self._writers
        )
        self._cache.degraded.refused(taken.plan.refused, now)
        self._evictor.withdraw_orphaned_marks(taken.plan)
        with internal_errors.confined("report", "reservations"):
            self._gang_events.promised(taken.reservations)
        if self._partial_gangs is not None:
            self._partial_gangs.consider(taken.plan.refused, now)
        return taken

    def _report(self, taken: TakenIn, now: int, seconds: float) -> None:
        plan, self._last_seconds = taken.plan, seconds
        self._changes.queues.set()
        if self._cache.gang_queue.is_due_at_once:
            self._changes.cycle.set()
        self._gang_events.planned(plan, now, taken.unchanged)
        self._measures.planned(plan)
        metrics.CYCLES.observe(seconds)
        metrics.BINDINGS_WAITING.set(self._binder.waiting)
        for reason in Reason:
            metrics.GANGS_WAITING.labels(reason.value).set(self._cache.gang_queue.waiting[reason])
        metrics.GANGS_UNTRIED.set(len(plan.untried))
        if plan.placed or plan.preemptions or plan.refused or plan.untried:
            log.info(
                "cycle_done",
                cycle=self._writers.cycle,
                placed=len(plan.placed),
                pods=sum(len(placed.binds) for placed in plan.placed),
                preemptions=sum(bool(made.nominations) for made in plan.preemptions),
                victims=sum(len(made.victims) for made in plan.preemptions),
                refused=len(plan.refused),
                untried=len(plan.untried),
                seconds=round(seconds, 6),
            )
