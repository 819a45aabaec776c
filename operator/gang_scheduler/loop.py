"""The scheduling loop: five numbered steps."""

import asyncio
import time
from collections.abc import Callable
from secrets import token_hex

import structlog

from gang_scheduler import telemetry
from gang_scheduler.cluster.binder import Binder, GangBinding
from gang_scheduler.cluster.cache import Cache
from gang_scheduler.cluster.release import Releaser
from gang_scheduler.cluster.reports import Reports
from gang_scheduler.model.gangs import Reason
from gang_scheduler.model.plan import Plan
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import Profile

log = structlog.get_logger()


class Wake:
    """Wakes the loop. Plain, so that the cache can be used without an event loop."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def __call__(self) -> None:
        """Ask for a cycle."""
        self.event.set()


class Loop:
    """Turns changes into plans and plans into bindings, a batch at a time."""

    def __init__(
        self,
        cache: Cache,
        binder: Binder,
        reports: Reports,
        releaser: Releaser | None = None,
        *,
        profile: Profile,
        wake: Wake,
        batch_seconds: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cache = cache
        self._binder = binder
        self._reports = reports
        self._releaser = releaser
        self._profile = profile
        self._wake = wake
        self._batch_seconds = batch_seconds
        self._clock = clock
        self._run_id = token_hex(4)
        binder.finished = self._bound
        self._cycle = 0
        self._last_seconds = 0.0

    async def run(self) -> None:
        """Schedule until cancelled."""
        while True:
            # 1. Wait for a change that could help somebody.
            await self._changed()
            started = time.perf_counter()
            # 2. Take a snapshot.
            snapshot = self._cache.snapshot(int(self._clock()))
            # 3. Decide.
            plan = schedule(snapshot, self._profile)
            # 4. Apply: assumed at once, written in the background.
            self._apply(plan, snapshot.taken_at)
            # 5. Report.
            self._report(plan, snapshot.taken_at, time.perf_counter() - started)

    async def _changed(self) -> None:
        """Return some milliseconds after a change, so that what comes together is one batch."""
        retry = self._cache.gangs.next_retry()
        wait = None if retry is None else max(retry - self._clock(), 0)
        try:
            await asyncio.wait_for(self._wake.event.wait(), wait)
        except TimeoutError:
            return
        # No more than half of the time is spent on cycles, however much changes.
        await asyncio.sleep(max(self._batch_seconds, self._last_seconds))
        self._wake.event.clear()

    def _apply(self, plan: Plan, now: int) -> None:
        self._cycle += 1
        for number, placed in enumerate(plan.placed):
            self._cache.gangs.placed(placed.gang.key)
            self._binder.submit(placed, plan_id=f"{self._run_id}-{self._cycle}-{number}")
        for refused in plan.refused:
            self._cache.gangs.refused(refused, now)
        for warned in plan.warned:
            self._cache.gangs.warned(warned)
        if self._releaser is not None:
            self._releaser.consider(plan.refused, now)

    def _report(self, plan: Plan, now: int, seconds: float) -> None:
        self._last_seconds = seconds
        self._reports.planned(plan, now)
        telemetry.CYCLES.observe(seconds)
        telemetry.BINDINGS_WAITING.set(self._binder.waiting)
        for reason in Reason:
            telemetry.GANGS_WAITING.labels(reason.value).set(self._cache.gangs.waiting[reason])
        if plan.placed or plan.refused:
            log.info(
                "cycle_done",
                cycle=self._cycle,
                placed=len(plan.placed),
                pods=sum(len(placed.binds) for placed in plan.placed),
                refused=len(plan.refused),
                seconds=round(seconds, 6),
            )

    def _bound(self, binding: GangBinding) -> None:
        self._reports.bound(binding)
        if binding.failed:
            now = int(self._clock())
            refusal = binding.refusal()
            self._cache.gangs.bind_failed(refusal, now)
            if self._releaser is not None:
                self._releaser.consider([refusal], now)
        else:
            self._cache.gangs.bound(binding.gang.key)
